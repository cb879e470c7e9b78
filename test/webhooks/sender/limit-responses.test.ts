import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Secret } from '../../../src/secret.js';
import { createAddressGuard } from '../../../src/webhooks/sender/address-guard.js';
import { ProtocolFailure } from '../../../src/webhooks/sender/attempt-error.js';
import { limitResponses } from '../../../src/webhooks/sender/limit-responses.js';
import { MAX_BODY_BYTES, MAX_HEAD_BYTES, MAX_INFORMATIONAL } from '../../../src/webhooks/sender/response-meter.js';
import { createSender, type Sender, type SendOutcome } from '../../../src/webhooks/sender/send.js';
import { type Answering, type RawReceiver, startRawReceiver } from '../../support/raw-receiver.js';

// These receivers violate the protocol on purpose. The time limits are a minute, so that they end no attempt here.

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const HINT = 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n';
/** Bytes that Node reads ahead of a limit: a full buffer of the stream, and one more read. */
const READ_AHEAD = 128 * 1024;
const certificate = (name: string) => readFileSync(join(import.meta.dirname, 'certificates', name), 'utf8');
const tls = { key: certificate('receiver.key'), cert: certificate('receiver.pem') };

const cleanUps: (() => Promise<void>)[] = [];
/** The sender's own ends of the connections. */
const sockets: Socket[] = [];
const keep = (message: unknown) => sockets.push((message as { socket: Socket }).socket);
beforeEach(() => diagnostics.subscribe('net.client.socket', keep));
afterEach(async () => {
  diagnostics.unsubscribe('net.client.socket', keep);
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  sockets.length = 0;
});

async function receiver(answering: Answering | string, secure = false): Promise<RawReceiver> {
  const started = await startRawReceiver(answering, secure ? { tls } : {});
  cleanUps.push(started.close);
  return started;
}

function newSender(): Sender {
  const sender = createSender({
    guard: createAddressGuard({ allowPrivate: true, blocked: [] }),
    caCertificates: certificate('ca.pem'),
    limits: { responseMs: 60_000, bodyMs: 60_000 },
  });
  cleanUps.push(sender.close);
  return sender;
}

function send(sender: Sender, url: string, clientId = 'client'): Promise<SendOutcome> {
  return sender.send({ url, body: '{}', secret: new Secret('s'.repeat(16)), clientId });
}

/** Writes `begin`, and then repeats `more` until the connection is closed. */
const flood =
  (begin: string, more: string): Answering =>
  (socket) => {
    const block = more.repeat(Math.ceil(65_536 / more.length));
    const write = () => socket.destroyed || socket.write(block, () => setImmediate(write));
    socket.write(begin, write);
  };

/** Waits for one turn of the event loop, after which undici uses a connection again. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function isClosed(socket: Socket | undefined): Promise<void> {
  if (socket && !socket.closed) await once(socket, 'close');
}

const none = { error: 'protocol', responseStatus: null, responseBody: null };
const success = { error: null, responseStatus: 200 };

const FLOODS: [string, Answering, object][] = [
  ['1xx responses', flood('', HINT), none],
  ['100 responses', flood('', 'HTTP/1.1 100 Continue\r\n\r\n'), none],
  ['1xx responses with large heads', flood('', `HTTP/1.1 103 x\r\nLink: ${'x'.repeat(15_000)}\r\n\r\n`), none],
  ['1xx responses of a version that does not exist', flood('', 'HTTP/2.0 103 x\r\n\r\n'), none],
  ['header fields', flood('HTTP/1.1 200 OK\r\n', 'X-More: and so on\r\n'), none],
  ['one header field', flood('HTTP/1.1 200 OK\r\nX: ', 'x'), none],
  ['header fields of a 1xx response', flood('HTTP/1.1 102 Processing\r\n', 'X-More: and so on\r\n'), none],
  ['a status line', flood('HTTP/1.1 200 ', 'OK '), none],
  ['empty lines before the status line', flood('', '\r\n'), none],
  ['chunk extensions', flood(`${CHUNKED}5`, ';name=value'), success],
  ['chunks with chunk extensions', flood(CHUNKED, `1;${'x'.repeat(100)}\r\na\r\n`), success],
  ['chunks of one byte', flood(CHUNKED, '1\r\na\r\n'), success],
  ['leading zeros of a chunk size', flood(CHUNKED, '0'), success],
  ['trailers', flood(`${CHUNKED}0\r\n`, 'X-More: and so on\r\n'), success],
  ['content', flood('HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n', 'x'), success],
  ['content after a failure', flood('HTTP/1.1 500 Oh\r\n\r\n', 'x'), { error: 'status', responseStatus: 500 }],
];
const WAYS = FLOODS.flatMap(([name, answering, outcome]) => [
  ['over TCP', name, answering, outcome, false] as const,
  ['over TLS', name, answering, outcome, true] as const,
]);

test.each(WAYS)('%s, a receiver that floods %s is cut off', async (_, name, answering, outcome, secure) => {
  const { url } = await receiver(answering, secure);
  expect(await send(newSender(), url)).toMatchObject(outcome);
  const [socket] = sockets;
  await isClosed(socket);
  const informational = name.startsWith('1xx') ? MAX_INFORMATIONAL * MAX_HEAD_BYTES : 0;
  const mayRead = informational + MAX_HEAD_BYTES + MAX_BODY_BYTES + READ_AHEAD;
  // TLS adds a certificate, and 22 bytes to each record.
  expect(socket?.bytesRead).toBeLessThan(mayRead * 1.1);
});

test("another client's deliveries arrive while one client's receivers flood", async () => {
  const noisy = await Promise.all(FLOODS.map(([, answering]) => receiver(answering)));
  const quiet = await receiver(OK);
  const sender = newSender();
  const floods = noisy.flatMap(({ url }) => [1, 2, 3].map(() => send(sender, url, 'noisy')));
  for (let i = 0; i < 20; i++) expect(await send(sender, quiet.url, 'quiet')).toMatchObject(success);
  const ended = await Promise.all(floods);
  expect(new Set(ended.map(({ error }) => error))).toEqual(new Set(['protocol', null, 'status']));
});

describe('protocol', () => {
  test.each<[string, Answering | string]>([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['no HTTP, and the connection closed', (socket) => socket.end('no\r\n')],
    ['HTTP/2', '\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0'],
    ["HTTP/2's preface", 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a request', 'POST / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['HTTP with no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['HTTP with a broken field', 'HTTP/1.1 200 OK\r\nbroken\x01\r\n\r\n'],
    ['HTTP with a broken field after its length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nbroken\x01\r\n\r\nhi'],
    ['a head of more than 16 KiB', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(MAX_HEAD_BYTES)}\r\n\r\n`],
    ['nine informational responses', `${HINT.repeat(9)}${OK}`],
    ['a change of the protocol', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['a change of the protocol to nothing', `HTTP/1.1 101 Switching\r\n\r\n${OK}`],
  ])('a response that is %s', async (_, answering) => {
    const { url } = await receiver(answering);
    expect(await send(newSender(), url)).toMatchObject(none);
    await isClosed(sockets[0]);
  });
});

describe('still a valid response', () => {
  test.each<[string, string]>([
    ['eight informational responses before it', `${HINT.repeat(8)}${OK}`],
    ['a 100 before it', `HTTP/1.1 100 Continue\r\n\r\n${OK}`],
    ['large informational responses before it', `HTTP/1.1 103 x\r\nX: ${'x'.repeat(16_000)}\r\n\r\n`.repeat(8) + OK],
    ['a head of nearly 16 KiB', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(16_000)}\r\nContent-Length: 0\r\n\r\n`],
  ])('%s', async (_, response) => {
    const { url, connections, requests } = await receiver(response);
    const sender = newSender();
    for (let i = 0; i < 3; i++) {
      expect(await send(sender, url)).toMatchObject(success);
      await turn();
    }
    expect([requests.length, connections()]).toEqual([3, 1]);
  });

  test.each<[string, Answering]>([
    ['byte by byte', (socket) => dripTo(socket, `HTTP/1.1 100 Continue\r\n\r\n${HINT}${CHUNKED}2\r\nhi\r\n0\r\n\r\n`)],
    ['at once', (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${HINT}${CHUNKED}2\r\nhi\r\n0\r\n\r\n`)],
  ])('with informational responses, %s', async (_, answering) => {
    const { url } = await receiver(answering);
    expect(await send(newSender(), url)).toMatchObject({ ...success, responseBody: 'hi' });
  });

  test('compressed: nothing is decoded', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const { url } = await receiver((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    const { responseBody } = await send(newSender(), url);
    expect(responseBody).toBe(bomb.subarray(0, 4_096).toString('utf8').replaceAll('\0', ''));
  });
});

async function dripTo(socket: Socket, bytes: string): Promise<void> {
  for (const byte of bytes) {
    socket.write(byte);
    await turn();
  }
}

describe('a connection is not used again', () => {
  test.each<[string, string]>([
    ['a second response arrived', OK.repeat(2)],
    ['many responses arrived', OK.repeat(2_000)],
    ['bytes arrived after the end', `${OK}and more`],
    ['an informational response arrived after the end', `${OK}${HINT}`],
    ['the content was more than 64 KiB', `HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n${'x'.repeat(65_537)}`],
    ['the chunk framing made it more than 64 KiB', `${CHUNKED}1;${'x'.repeat(65_536)}\r\na\r\n0\r\n\r\n`],
  ])('when %s', async (_, response) => {
    const { url, requests, connections } = await receiver(response);
    const sender = newSender();
    for (let i = 0; i < 3; i++) {
      expect(await send(sender, url)).toMatchObject(success);
      await isClosed(sockets[i]);
    }
    expect([requests.length, connections()]).toEqual([3, 3]);
  });
});

test('a TLS connection with a flood of session tickets is cut off', async () => {
  // A plain socket stands for a TLS socket, because Node's own server sends only two tickets.
  const socket = new Socket();
  const failed = once(socket, 'error');
  limitResponses(socket);
  for (let i = 0; i < 16; i++) socket.emit('session', Buffer.alloc(0));
  expect(socket.destroyed).toBe(false);
  socket.emit('session', Buffer.alloc(0));
  expect(socket.destroyed).toBe(true);
  expect(await failed).toEqual([new ProtocolFailure()]);
});
