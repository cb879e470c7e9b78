import { Secret } from '../../../src/secret.js';
import { type AddressGuard, createAddressGuard } from '../../../src/webhooks/sender/address-guard.js';
import type { LookUp } from '../../../src/webhooks/sender/resolver.js';
import { createSender, type SendLimits, type SendOutcome } from '../../../src/webhooks/sender/send.js';
import { type RawReceiver, startRawReceiver } from '../../support/raw-receiver.js';

const CLOSING = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
/** Stands for a private address, which the loopback of a test cannot be told from otherwise. */
const PRIVATE = '127.0.0.2';
const guard = createAddressGuard({ allowPrivate: true, blocked: [`${PRIVATE}/32`] });

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function receiver(): Promise<RawReceiver> {
  const started = await startRawReceiver(CLOSING, { host: '0.0.0.0' });
  cleanUps.push(started.close);
  return started;
}

function sending(options: {
  guard?: AddressGuard;
  lookUp?: LookUp;
  limits?: Partial<SendLimits>;
}): (url: string) => Promise<SendOutcome> {
  const { lookUp, limits = {} } = options;
  const sender = createSender({ guard: options.guard ?? guard, limits, ...(lookUp && { resolver: { lookUp } }) });
  cleanUps.push(sender.close);
  return (url) => sender.send({ url, body: '{}', secret: new Secret('s'.repeat(16)), clientId: 'client' });
}

/** Answers with one list after the other, the last one again and again; holds for no time. */
function answering(...lists: string[][]): LookUp {
  let asked = 0;
  return async () => (lists[Math.min(asked++, lists.length - 1)] ?? []).map((address) => ({ address, ttl: 0 }));
}

const none = { error: 'blocked_address', responseStatus: null, responseBody: null };

test('a name that turns to a private address between two deliveries (DNS rebinding) is blocked', async () => {
  const { port, connections } = await receiver();
  const send = sending({ lookUp: answering(['127.0.0.1'], [PRIVATE]) });
  expect(await send(`http://rebind.test:${port}/`)).toMatchObject({ error: null });
  expect(await send(`http://rebind.test:${port}/`)).toMatchObject(none);
  expect(connections()).toBe(1);
});

test('between look-up and connect there is no second look-up that could turn', async () => {
  const { port, connections } = await receiver();
  let asked = 0;
  const send = sending({
    lookUp: async () => [{ address: asked++ === 0 ? '127.0.0.1' : PRIVATE, ttl: 0 }],
  });
  expect(await send(`http://rebind.test:${port}/`)).toMatchObject({ error: null });
  expect([asked, connections()]).toEqual([1, 1]);
});

test.each([
  [['127.0.0.1', PRIVATE]],
  [[PRIVATE, '127.0.0.1']],
  [['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1', PRIVATE]],
  [[`::ffff:${PRIVATE}`]],
  [['::ffff:7f00:2']],
  [['64:ff9b::7f00:2']],
  [['not an address']],
])('a name with the addresses %j is refused whole', async (addresses) => {
  const { port, connections } = await receiver();
  expect(await sending({ lookUp: answering(addresses) })(`http://several.test:${port}/`)).toMatchObject(none);
  expect(connections()).toBe(0);
});

test.each([PRIVATE, '127.2', '0x7f000002', '2130706434', '0177.0.0.2', '[::ffff:127.0.0.2]', '[::FFFF:7F00:2]'])(
  'the literal address %s is blocked',
  async (host) => {
    const { port, connections } = await receiver();
    expect(await sending({})(`http://${host}:${port}/`)).toMatchObject(none);
    expect(connections()).toBe(0);
  },
);

test.each([
  'localhost',
  'x.localhost',
  'localhost.',
  '127.0.0.1',
  '[::1]',
  '0.0.0.0',
  '169.254.169.254',
  '[fd00:ec2::254]',
])('where private receivers are not allowed, %s is blocked', async (host) => {
  const { port, connections } = await receiver();
  const send = sending({ guard: createAddressGuard({ allowPrivate: false, blocked: [] }) });
  expect(await send(`http://${host}:${port}/`)).toMatchObject(none);
  expect(connections()).toBe(0);
});

test('the address really connected to is judged once more, before a byte is sent', async () => {
  const { port, requests } = await receiver();
  const judged: string[] = [];
  const turning: AddressGuard = {
    blocks: (address) => judged.push(address) === 2,
    blocksLiteral: () => false,
  };
  expect(await sending({ guard: turning })(`http://127.0.0.1:${port}/`)).toMatchObject(none);
  expect(judged).toEqual(['127.0.0.1', '127.0.0.1']);
  expect(requests).toEqual([]);
});

test('a second address is tried where the first refuses', async () => {
  const one = await startRawReceiver(CLOSING, { host: '127.0.0.1' });
  cleanUps.push(one.close);
  const send = sending({ lookUp: answering(['127.0.0.3', '127.0.0.1']) });
  expect(await send(`http://several.test:${one.port}/`)).toMatchObject({ error: null });
});

test('where no address answers, the first one says why', async () => {
  const { port, close } = await startRawReceiver(CLOSING);
  await close();
  expect(await sending({ lookUp: answering(['127.0.0.1', '::1']) })(`http://several.test:${port}/`)).toMatchObject({
    error: 'refused',
  });
});

test('a look-up that takes longer than a connection may is a matter of DNS', async () => {
  const send = sending({ lookUp: () => new Promise(() => {}), limits: { connectMs: 100 } });
  expect(await send('http://slow.test/')).toMatchObject({ error: 'dns', responseStatus: null });
});
