import { createServer, type Socket } from 'node:net';
import type { SendLimits } from '../../../src/delivery/sender/send.js';
import {
  afterTest,
  closeAll,
  identity,
  issuer,
  loopback,
  OK,
  outgoing,
  receiver,
  sender,
} from '../../support/sender.js';

afterEach(closeAll);

const receiverWith = (tls: object) => receiver(OK, { tls });

/** Sends a delivery. Every name resolves to 127.0.0.1. */
const send = (url: string, options: { caCertificates?: string; limits?: Partial<SendLimits> } = {}) => {
  const { limits, ...rest } = options;
  return sender(limits, { resolver: loopback, ...rest }).send(outgoing(url));
};

/** A server on TCP that handles the first bytes of each connection. @returns its port */
async function serve(handle: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => handle(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(() => server.close());
  return (server.address() as { port: number }).port;
}

test.each([
  ['receiver.test', ''],
  ['receiver.test.', 'without its final dot'],
  ['RECEIVER.test', 'in lower case'],
])('a certificate is trusted for %s on a connection to an address; SNI has the name %s', async (host) => {
  const asked: string[] = [];
  const { port, requests } = await receiverWith({
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
  const { port, requests } = await receiverWith({
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

test.each([
  ['receiver', null],
  ['other-host', 'tls'],
])('at a literal address, the error with the certificate of %s is %s', async (name, error) => {
  const { port } = await receiverWith(identity(name));
  expect(await send(`https://127.0.0.1:${port}/`, { caCertificates: issuer })).toMatchObject({ error });
});

test.each([
  ['of an unknown issuer', 'receiver', undefined, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ['that is self-signed', 'self-signed', issuer, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['for another host', 'other-host', issuer, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['that has expired', 'expired', issuer, 'CERT_HAS_EXPIRED'],
])('tls: a certificate %s; no byte of the request is sent', async (_, name, caCertificates, code) => {
  const { port, requests } = await receiverWith(identity(name));
  const outcome = await send(`https://receiver.test:${port}/`, caCertificates ? { caCertificates } : {});
  expect(outcome).toMatchObject({ error: 'tls', responseStatus: null, responseBody: null });
  expect(outcome.detail).toBe(`The TLS handshake failed: ${code}.`);
  expect(requests).toEqual([]);
});

test('tls: the receiver supports only TLS 1.1', async () => {
  const { port } = await receiverWith({
    ...identity('receiver'),
    minVersion: 'TLSv1.1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  });
  expect(await send(`https://receiver.test:${port}/`, { caCertificates: issuer })).toMatchObject({ error: 'tls' });
});

/** 320 KiB of messages that a client must ignore (RFC 5246, section 7.4.1.1). */
const HELLO_REQUESTS = Buffer.concat(
  Array(20).fill(Buffer.concat([Buffer.from([22, 3, 3, 64, 0]), Buffer.alloc(16_384)])),
);

test.each([
  ['reset', 'the connection breaks in the handshake', (socket: Socket) => void socket.resetAndDestroy(), {}],
  ['timeout', 'the handshake stalls', () => {}, { connectMs: 200 }],
  ['tls', 'the receiver does not speak TLS', (socket: Socket) => void socket.end('HTTP/1.1 400 Bad\r\n\r\n'), {}],
  ['tls', 'the handshake has more than 256 KiB', (socket: Socket) => void socket.write(HELLO_REQUESTS), {}],
])('%s: %s', async (error, _, handle, limits) => {
  expect(await send(`https://receiver.test:${await serve(handle)}/`, { limits })).toMatchObject({ error });
});

test('reset: a TLS receiver is called by http:', async () => {
  const { port } = await receiverWith(identity('receiver'));
  expect(await send(`http://receiver.test:${port}/`)).toMatchObject({ error: 'reset' });
});

test('regression: over TLS, too, a body that lasts until the connection closes is cut, and the sender closes', async () => {
  const endless = await receiver('HTTP/1.1 200 OK\r\n\r\nhello', { tls: identity('receiver') });
  const sent = send(`https://receiver.test:${endless.port}/`, { caCertificates: issuer, limits: { bodyMs: 100 } });
  expect(await sent).toMatchObject({ error: null, responseBody: 'hello' });
});

test('regression: over TLS, too, an attempt that timed out resets its connection', async () => {
  const ended = Promise.withResolvers<NodeJS.ErrnoException | undefined>();
  const silent = await receiver(() => {}, {
    tls: identity('receiver'),
    onConnection: (socket) => socket.on('error', ended.resolve).on('end', () => ended.resolve(undefined)),
  });
  const sent = send(`https://receiver.test:${silent.port}/`, { caCertificates: issuer, limits: { responseMs: 200 } });
  expect(await sent).toMatchObject({ error: 'timeout' });
  expect(await ended.promise).toMatchObject({ code: 'ECONNRESET' });
});
