import { type AddressGuard, createAddressGuard } from '../../../src/delivery/sender/address-guard.js';
import type { LookUp } from '../../../src/delivery/sender/resolver.js';
import type { SendLimits } from '../../../src/delivery/sender/send.js';
import { closeAll, receiver as openReceiver, outgoing, sender } from '../../support/sender.js';

const CLOSING = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
/** Stands for a private address. Tests run on loopback, so that only the blocked list can distinguish it. */
const PRIVATE = '127.0.0.2';
const guard = createAddressGuard({ allowPrivate: true, blocked: [`${PRIVATE}/32`] });

afterEach(closeAll);

const receiver = () => openReceiver(CLOSING, { host: '0.0.0.0' });

function sending(options: { guard?: AddressGuard; lookUp?: LookUp; limits?: Partial<SendLimits> }) {
  const { lookUp, limits } = options;
  const { send } = sender(limits, { guard: options.guard ?? guard, ...(lookUp && { resolver: { lookUp } }) });
  return (url: string) => send(outgoing(url));
}

/** A look-up that returns the lists in turn and then repeats the last one. The results have a time to live of 0. */
function returning(...lists: string[][]): LookUp {
  let lookUps = 0;
  return async () => (lists[Math.min(lookUps++, lists.length - 1)] ?? []).map((address) => ({ address, ttl: 0 }));
}

const none = { error: 'blocked_address', responseStatus: null, responseBody: null };

test('a name that changes to a private address between two deliveries (DNS rebinding) is blocked', async () => {
  const { port, connections } = await receiver();
  const send = sending({ lookUp: returning(['127.0.0.1'], [PRIVATE]) });
  expect(await send(`http://rebind.test:${port}/`)).toMatchObject({ error: null });
  expect(await send(`http://rebind.test:${port}/`)).toMatchObject(none);
  expect(connections()).toBe(1);
});

test('a connection makes no second look-up, which could return another address', async () => {
  const { port, connections } = await receiver();
  let lookUps = 0;
  const send = sending({
    lookUp: async () => [{ address: lookUps++ === 0 ? '127.0.0.1' : PRIVATE, ttl: 0 }],
  });
  expect(await send(`http://rebind.test:${port}/`)).toMatchObject({ error: null });
  expect([lookUps, connections()]).toEqual([1, 1]);
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
  expect(await sending({ lookUp: returning(addresses) })(`http://several.test:${port}/`)).toMatchObject(none);
  expect(connections()).toBe(0);
});

test.each([PRIVATE, '2130706434', '[::FFFF:7F00:2]'])('the literal address %s is blocked', async (host) => {
  const { port, connections } = await receiver();
  expect(await sending({})(`http://${host}:${port}/`)).toMatchObject(none);
  expect(connections()).toBe(0);
});

test.each(['localhost', 'x.localhost', '127.0.0.1', '169.254.169.254'])(
  '%s is blocked when private receivers are not allowed',
  async (host) => {
    const { port, connections } = await receiver();
    const send = sending({ guard: createAddressGuard({ allowPrivate: false, blocked: [] }) });
    expect(await send(`http://${host}:${port}/`)).toMatchObject(none);
    expect(connections()).toBe(0);
  },
);

test('the connected address is checked again before a byte is sent', async () => {
  const { port, requests } = await receiver();
  const checked: string[] = [];
  const blocksSecond: AddressGuard = {
    blocks: (address) => checked.push(address) === 2,
    blocksLiteral: () => false,
  };
  expect(await sending({ guard: blocksSecond })(`http://127.0.0.1:${port}/`)).toMatchObject(none);
  expect(checked).toEqual(['127.0.0.1', '127.0.0.1']);
  expect(requests).toEqual([]);
});

test('the second address is tried when the first refuses the connection', async () => {
  const one = await openReceiver(CLOSING);
  const send = sending({ lookUp: returning(['127.0.0.3', '127.0.0.1']) });
  expect(await send(`http://several.test:${one.port}/`)).toMatchObject({ error: null });
});

test('when no address accepts a connection, the error is that of the first', async () => {
  const { port, close } = await openReceiver(CLOSING);
  await close();
  expect(await sending({ lookUp: returning(['127.0.0.1', '::1']) })(`http://several.test:${port}/`)).toMatchObject({
    error: 'refused',
  });
});
