import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createAddressGuard } from '../../../src/delivery/sender/address-guard.js';
import { createSender, type SendLimits, type SendOutcome } from '../../../src/delivery/sender/send.js';
import { Secret } from '../../../src/platform/secret.js';
import { type RawReceiver, startRawReceiver } from '../../support/raw-receiver.js';

// certificates/make.sh makes these certificates.
const file = (name: string) => readFileSync(join(import.meta.dirname, 'certificates', name), 'utf8');
const issuer = file('ca.pem');
const identity = (name: string) => ({ key: file(`${name}.key`), cert: file(`${name}.pem`) });
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function receiver(tls: object | undefined): Promise<RawReceiver> {
  const started = await startRawReceiver(OK, tls ? { tls } : {});
  cleanUps.push(started.close);
  return started;
}

/** Sends a delivery. Every name resolves to 127.0.0.1. */
function send(
  url: string,
  options: { caCertificates?: string; limits?: Partial<SendLimits> } = {},
): Promise<SendOutcome> {
  const sender = createSender({
    guard: createAddressGuard({ allowPrivate: true, blocked: [] }),
    resolver: { lookUp: async () => [{ address: '127.0.0.1', ttl: 60 }] },
    ...options,
  });
  cleanUps.push(sender.close);
  return sender.send({ url, body: '{}', secret: new Secret('s'.repeat(16)), clientId: 'client' });
}

test.each([
  ['receiver.test', ''],
  ['receiver.test.', 'without its final dot'],
  ['RECEIVER.test', 'in lower case'],
])('a certificate is trusted for %s on a connection to an address; SNI has the name %s', async (host) => {
  const asked: string[] = [];
  const { port, requests } = await receiver({
    ...identity('receiver'),
    SNICallback: (name: string, done: (error: Error | null) => void) => {
      asked.push(name);
      done(null);
    },
  });
  expect(await send(`https://${host}:${port}/hook`, { caCertificates: issuer })).toMatchObject({
    error: null,
    responseStatus: 200,
  });
  expect(asked).toEqual(['receiver.test']);
  expect(requests[0]).toContain(`host: ${host.toLowerCase()}:${port}\r\n`);
});

test('a receiver with HTTP/2 is offered only HTTP/1.1', async () => {
  const offered: string[] = [];
  const { port, requests } = await receiver({
    ...identity('receiver'),
    ALPNCallback: ({ protocols }: { protocols: string[] }) => {
      offered.push(...protocols);
      return protocols[0];
    },
  });
  const outcome = await send(`https://receiver.test:${port}/`, { caCertificates: issuer });
  expect(outcome).toMatchObject({ error: null, responseStatus: 200 });
  expect(offered).toEqual(['http/1.1']);
  expect(requests[0]).toContain('POST / HTTP/1.1\r\n');
});

test('a certificate for a literal address is trusted', async () => {
  const { port } = await receiver(identity('receiver'));
  expect(await send(`https://127.0.0.1:${port}/`, { caCertificates: issuer })).toMatchObject({ error: null });
});

test.each([
  ['of an unknown issuer', 'receiver', undefined, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ['that is self-signed', 'self-signed', issuer, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['for another host', 'other-host', issuer, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['that has expired', 'expired', issuer, 'CERT_HAS_EXPIRED'],
])('tls: a certificate %s; no byte of the request is sent', async (_, name, caCertificates, code) => {
  const { port, requests } = await receiver(identity(name));
  const outcome = await send(`https://receiver.test:${port}/`, caCertificates ? { caCertificates } : {});
  expect(outcome).toMatchObject({ error: 'tls', responseStatus: null, responseBody: null });
  expect(outcome.detail).toBe(`The TLS handshake failed: ${code}.`);
  expect(requests).toEqual([]);
});

test('tls: the certificate does not match a literal address', async () => {
  const { port } = await receiver(identity('other-host'));
  expect(await send(`https://127.0.0.1:${port}/`, { caCertificates: issuer })).toMatchObject({ error: 'tls' });
});

test('tls: the receiver supports only TLS 1.1', async () => {
  const { port } = await receiver({
    ...identity('receiver'),
    minVersion: 'TLSv1.1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  });
  expect(await send(`https://receiver.test:${port}/`, { caCertificates: issuer })).toMatchObject({ error: 'tls' });
});

test('tls: the receiver does not speak TLS', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(async () => void server.close());
  const { port } = server.address() as { port: number };
  expect(await send(`https://receiver.test:${port}/`)).toMatchObject({ error: 'tls' });
});

/** 320 KiB of messages that a client must ignore (RFC 5246, section 7.4.1.1). */
const HELLO_REQUESTS = Buffer.concat(
  Array(20).fill(Buffer.concat([Buffer.from([22, 3, 3, 64, 0]), Buffer.alloc(16_384)])),
);

test.each([
  ['reset', 'the connection breaks in the handshake', (socket: Socket) => void socket.resetAndDestroy(), {}],
  ['timeout', 'the handshake stalls', () => {}, { connectMs: 200 }],
  ['tls', 'the handshake has more than 256 KiB', (socket: Socket) => void socket.write(HELLO_REQUESTS), {}],
])('%s: %s', async (error, _, serve, limits) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => serve(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(async () => void server.close());
  const { port } = server.address() as { port: number };
  expect(await send(`https://receiver.test:${port}/`, { limits })).toMatchObject({ error });
});

test('reset: a TLS receiver is called by http:', async () => {
  const { port } = await receiver(identity('receiver'));
  expect(await send(`http://receiver.test:${port}/`)).toMatchObject({ error: 'reset' });
});

test('regression: over TLS, too, a body that lasts until the connection closes is cut, and the sender closes', async () => {
  const endless = await startRawReceiver('HTTP/1.1 200 OK\r\n\r\nhello', { tls: identity('receiver') });
  cleanUps.push(endless.close);
  const sent = send(`https://receiver.test:${endless.port}/`, { caCertificates: issuer, limits: { bodyMs: 100 } });
  expect(await sent).toMatchObject({ error: null, responseBody: 'hello' });
});

test('regression: over TLS, too, an attempt that timed out resets its connection', async () => {
  const ended = Promise.withResolvers<NodeJS.ErrnoException | undefined>();
  const silent = await startRawReceiver(() => {}, {
    tls: identity('receiver'),
    onConnection: (socket) => socket.on('error', ended.resolve).on('end', () => ended.resolve(undefined)),
  });
  cleanUps.push(silent.close);
  const sent = send(`https://receiver.test:${silent.port}/`, { caCertificates: issuer, limits: { responseMs: 200 } });
  expect(await sent).toMatchObject({ error: 'timeout' });
  expect(await ended.promise).toMatchObject({ code: 'ECONNRESET' });
});
