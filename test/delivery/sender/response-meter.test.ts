import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Socket } from 'node:net';
import tlsModule, { type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { ProtocolFailure } from '../../../src/delivery/sender/attempt-error.js';
import {
  limitResponses,
  MAX_BODY_BYTES,
  MAX_HEAD_BYTES,
  MAX_INFORMATIONAL,
  type Passed,
  ResponseMeter,
} from '../../../src/delivery/sender/response-meter.js';
import type { Sender } from '../../../src/delivery/sender/send.js';
import type { Answering } from '../../support/raw-receiver.js';
import { afterTest, closeAll, identity, issuer, OK, outgoing, receiver, sender, turn } from '../../support/sender.js';

const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const HINT = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';

const NOTE = /HTTP\/1\.1 199 Note\r\n(?:.+\r\n)+\r\n/g;

/** The text that passes of these chunks, without notes, up to the chunk that exceeds a limit. */
function passed(
  chunks: readonly (string | Buffer)[],
  meter = new ResponseMeter(),
): { text: string; exceeded: boolean } {
  let text = '';
  for (const chunk of chunks) {
    const { bytes, failure }: Passed = meter.pass(Buffer.from(chunk as string, 'latin1'));
    text += bytes.toString('latin1').replace(NOTE, '');
    if (failure) return { text, exceeded: true };
  }
  return { text, exceeded: false };
}

const headOf = (size: number) => `HTTP/1.1 200 ${'x'.repeat(size - 'HTTP/1.1 200 \r\n\r\n'.length)}\r\n\r\n`;
const hints = (count: number) => HINT.repeat(count);

test.each<[string, string, string, boolean]>([
  ['bytes that may begin a status line are held', 'HTTP/1.1 1', '', false],
  ['a head is held until it is complete', 'HTTP/1.1 200 OK\r\nServer: a\r\n', '', false],
  ['empty lines before a head are removed', `\r\n\r\n${HEAD}`, HEAD, false],
  ['empty lines without end exceed the limit', '\r\n'.repeat(MAX_HEAD_BYTES / 2 + 1), '', true],
  ['a head of 16 KiB passes', headOf(MAX_HEAD_BYTES), headOf(MAX_HEAD_BYTES), false],
  ['a head of one byte more exceeds the limit', headOf(MAX_HEAD_BYTES + 1), '', true],
  ['an informational head may have 16 KiB too', headOf(MAX_HEAD_BYTES).replace('200', '102') + HEAD, HEAD, false],
  [
    'an informational head of one byte more exceeds the limit',
    headOf(MAX_HEAD_BYTES + 1).replace('200', '102') + HEAD,
    '',
    true,
  ],
])('%s', (_, bytes, text, exceeded) => {
  expect(passed([bytes])).toEqual({ text, exceeded });
});

test('64 KiB of any bytes pass after the head, and not a byte more', () => {
  const body = 'x'.repeat(MAX_BODY_BYTES);
  expect(passed([HEAD, body])).toEqual({ text: HEAD + body, exceeded: false });
  expect(passed([`${HEAD}${body}y`])).toEqual({ text: HEAD + body, exceeded: true });
  expect(passed([`${HEAD}x`, body])).toEqual({ text: HEAD + body, exceeded: true });
});

test('the result does not depend on how the bytes are cut into chunks', () => {
  const responses = [
    `${hints(3)}\r\n${HEAD}5\r\nhello\r\n0\r\n\r\n`,
    `HTTP/1.0 100 x\r\n\r\n${headOf(MAX_HEAD_BYTES)}abc`,
    `${hints(9)}${HEAD}`,
    headOf(MAX_HEAD_BYTES + 1),
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...responses),
      fc.array(fc.integer({ min: 1, max: 5_000 }), { maxLength: 40 }),
      (response, sizes) => {
        const chunks: string[] = [];
        let at = 0;
        for (const size of sizes) {
          chunks.push(response.slice(at, at + size));
          at += size;
        }
        const cut = passed([...chunks.filter(Boolean), ...(at < response.length ? [response.slice(at)] : [])]);
        expect(cut).toEqual(passed([response]));
      },
    ),
  );
  for (const response of responses) expect(passed([...response])).toEqual(passed([response]));
});

describe('a connection', () => {
  // These receivers violate the protocol on purpose. The time limits are a minute, so that they end no attempt here.

  /** Bytes that Node reads ahead of a limit: a full buffer of the stream, and one more read. */
  const READ_AHEAD = 128 * 1024;
  const tls = identity('receiver');

  /** The sender's own ends of the connections. */
  const sockets: Socket[] = [];
  const keep = (message: unknown) => sockets.push((message as { socket: Socket }).socket);
  beforeEach(() => diagnostics.subscribe('net.client.socket', keep));
  afterEach(async () => {
    diagnostics.unsubscribe('net.client.socket', keep);
    await closeAll();
    sockets.length = 0;
  });

  const newSender = () => sender({ responseMs: 60_000, bodyMs: 60_000 }, { caCertificates: issuer });
  const send = ({ send }: Sender, url: string, clientId = 'client') => send(outgoing(url, { clientId }));

  /** Writes `begin`, and then repeats `more` until the connection is closed. */
  const flood =
    (begin: string, more: string): Answering =>
    (socket) => {
      const block = more.repeat(Math.ceil(65_536 / more.length));
      const write = () => socket.destroyed || socket.write(block, () => setImmediate(write));
      socket.write(begin, write);
    };

  async function isClosed(socket: Socket | undefined): Promise<void> {
    if (socket && !socket.closed) await once(socket, 'close');
  }

  const none = { error: 'protocol', responseStatus: null, responseHeaders: null, responseBody: null };
  const success = { error: null, responseStatus: 200 };
  const tooLarge = { responseHeaders: null, detail: 'The head of the response is larger than 16 KiB.' };

  const FLOODS: [string, Answering, object][] = [
    ['1xx responses', flood('', HINT), none],
    ['100 responses', flood('', 'HTTP/1.1 100 Continue\r\n\r\n'), none],
    ['1xx responses with large heads', flood('', `HTTP/1.1 103 x\r\nLink: ${'x'.repeat(15_000)}\r\n\r\n`), none],
    ['1xx responses of a version that does not exist', flood('', 'HTTP/2.0 103 x\r\n\r\n'), none],
    ['header fields', flood('HTTP/1.1 200 OK\r\n', 'X-More: and so on\r\n'), { ...success, ...tooLarge }],
    ['one header field', flood('HTTP/1.1 200 OK\r\nX: ', 'x'), { ...success, ...tooLarge }],
    ['header fields of a 1xx response', flood('HTTP/1.1 102 Processing\r\n', 'X-More: and so on\r\n'), none],
    ['a status line', flood('HTTP/1.1 200 ', 'OK '), none],
    ['empty lines before the status line', flood('', '\r\n'), none],
    ['chunk extensions', flood(`${HEAD}5`, ';name=value'), success],
    ['chunks with chunk extensions', flood(HEAD, `1;${'x'.repeat(100)}\r\na\r\n`), success],
    ['chunks of one byte', flood(HEAD, '1\r\na\r\n'), success],
    ['leading zeros of a chunk size', flood(HEAD, '0'), success],
    ['trailers', flood(`${HEAD}0\r\n`, 'X-More: and so on\r\n'), success],
    ['content', flood('HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n', 'x'), success],
    ['content after a failure', flood('HTTP/1.1 500 Oh\r\n\r\n', 'x'), { error: 'status', responseStatus: 500 }],
  ];
  const WAYS = FLOODS.flatMap(([name, answering, outcome]) => [
    ['over TCP', name, answering, outcome, false] as const,
    ['over TLS', name, answering, outcome, true] as const,
  ]);

  test.each(WAYS)('%s, a receiver that floods %s is cut off', async (_, name, answering, outcome, secure) => {
    const { url } = await receiver(answering, secure ? { tls } : {});
    expect(await send(newSender(), url)).toMatchObject(outcome);
    const [socket] = sockets;
    await isClosed(socket);
    const informational = name.startsWith('1xx') ? MAX_INFORMATIONAL * MAX_HEAD_BYTES : 0;
    const mayRead = informational + MAX_HEAD_BYTES + MAX_BODY_BYTES + READ_AHEAD;
    // TLS adds a certificate, and 22 bytes to each record.
    expect(socket?.bytesRead).toBeLessThan(mayRead * 1.1);
  });

  describe('protocol', () => {
    test.each<[string, Answering | string, string?]>([
      ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'The response does not begin with an HTTP/1.x status line.'],
      ['no HTTP, and the connection closed', (socket) => socket.end('no\r\n')],
      ['HTTP/2', '\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0', 'The receiver speaks HTTP/2 only.'],
      ["HTTP/2's preface", 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'The receiver speaks HTTP/2 only.'],
      ['a TLS alert', '\x15\x03\x01\0\x02\x02\x16', 'The receiver speaks TLS: the URL needs https.'],
      ['a request', 'POST / HTTP/1.1\r\nHost: x\r\n\r\n'],
      ['HTTP with no status', 'HTTP/1.1 OK\r\n\r\n'],
      ['HTTP with a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
      ['HTTP with a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
      ['HTTP with a status below 100', 'HTTP/1.1 000 OK\r\n\r\n'],
      ['HTTP/2 in text', 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
      ['HTTP/0.9 with a status line', 'HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n'],
      [
        'nine informational responses',
        `${HINT.repeat(9)}${OK}`,
        'More than 8 informational (1xx) responses came before the response.',
      ],
      ['a change of the protocol', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
      ['a change of the protocol to nothing', `HTTP/1.1 101 Switching\r\n\r\n${OK}`],
    ])('a response that is %s', async (_, answering, detail = '') => {
      const { url } = await receiver(answering);
      expect(await send(newSender(), url)).toMatchObject({ ...none, detail: expect.stringContaining(detail) });
      await isClosed(sockets[0]);
    });

    test('bytes before the request', async () => {
      const { url, connections } = await receiver('', { onConnection: (socket) => void socket.write(OK) });
      expect(await send(newSender(), url)).toMatchObject({
        ...none,
        detail: 'The receiver sent bytes before it had the request.',
      });
      await isClosed(sockets[0]);
      expect(connections()).toBe(1);
    });
  });

  describe('the first line decides', () => {
    const head = (status: string, fields: string) => `HTTP/1.1 ${status}\r\n${fields}\r\n`;
    const FAULTS: [string, string, object?][] = [
      ['both Content-Length and Transfer-Encoding', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'],
      ['both Content-Length and Transfer-Encoding', 'Transfer-Encoding: identity\r\nContent-Length: 2\r\n'],
      ['more than one Content-Length', 'Content-Length: 2\r\nContent-Length: 2\r\n'],
      ['more than one Content-Length', 'Content-Length: 2\r\nContent-Length: 3\r\n'],
      ['more than one Content-Length', 'Content-Length: 2, 2\r\n'],
      ['a line that ends with LF alone and a folded line', 'X-Policy: a;\n b\r\n'],
      ['a Content-Length that is not a number', 'Content-Length: -1\r\n'],
      ['a folded line', 'X-Policy: a;\r\n b\r\nContent-Length: 2\r\n'],
      ['a line that ends with LF alone', 'X-A: a\nContent-Length: 2\r\n'],
      ['a line that ends with LF alone', 'Content-Length: 2\n'],
      ['a CR without LF', 'X-A: a\rb\r\nContent-Length: 2\r\n'],
      ['a blank before the colon of a header', 'X-A : a\r\nContent-Length: 2\r\n'],
      ['a line without a colon', 'broken\x01\r\nContent-Length: 2\r\n'],
      ['a header name with an invalid character', 'X(A): a\r\nContent-Length: 2\r\n'],
      ['a control character in a header', 'X-A: a\0b\r\nContent-Length: 2\r\n'],
    ];
    const named = (fault: string) => ({ detail: `The head of the response has ${fault}.` });

    test.each(FAULTS)('a 2xx whose head has %s is a success, and closes the connection', async (fault, fields) => {
      const { url } = await receiver(`${head('202 Accepted', `Server: a\r\n${fields}`)}ok`);
      expect(await send(newSender(), url)).toMatchObject({
        ...{ error: null, responseStatus: 202, responseHeaders: null, responseBody: null },
        ...named(fault),
      });
      await isClosed(sockets[0]);
    });

    test.each([
      ['500 Oh', 'status'],
      ['410 Gone', 'status'],
      ['302 Found', 'redirect'],
      ['503', 'status'],
    ])('a faulty head with the status %s is %s', async (status, error) => {
      const fields = 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n';
      const { url } = await receiver(`${head(status, fields)}2\r\nno\r\n0\r\n\r\n`);
      expect(await send(newSender(), url)).toMatchObject({
        ...{ error, responseStatus: Number(status.slice(0, 3)) },
        ...named('both Content-Length and Transfer-Encoding'),
      });
      await isClosed(sockets[0]);
    });

    const sound = { detail: null, responseHeaders: { server: 'a' } };
    test.each<[string, string, object]>([
      ['LF alone', 'HTTP/1.1 204 No Content\nServer: a\n\n', named('a line that ends with LF alone')],
      ['no reason', 'HTTP/1.1 204\r\nServer: a\r\n\r\n', sound],
      ['an empty reason', 'HTTP/1.1 204 \r\nServer: a\r\n\r\n', sound],
      ['a version of tomorrow', 'HTTP/1.2 204 x\r\nServer: a\r\n\r\n', named('an unknown HTTP version')],
      [
        'a 100 before it, all with LF',
        'HTTP/1.1 100\n\nHTTP/1.1 204\nServer: a\n\n',
        named('a line that ends with LF alone'),
      ],
      ['a faulty 103 before it', 'HTTP/1.1 103 x\r\nbroken\r\n\r\nHTTP/1.1 204\r\nServer: a\r\n\r\n', sound],
    ])('a status line with %s is one', async (_, response, expected) => {
      const { url } = await receiver(response);
      expect(await send(newSender(), url)).toMatchObject({
        ...{ error: null, responseStatus: 204 },
        ...expected,
      });
    });

    test('a 2xx line with any bytes after it is a success', async () => {
      let response = Buffer.alloc(0);
      const { url } = await receiver((socket) => socket.end(response));
      const sender = newSender();
      const pieces = fc.constantFrom(
        ...'Content-Length: 1|Transfer-Encoding: chunked|Connection: keep-alive|Upgrade: h2c|X-A|: | '.split('|'),
        ...['\r\n', '\n', '\r', '\r\n\r\n', '\0', '\x80', '5\r\nhello\r\n0\r\n\r\n', 'HTTP/1.1 500 Oh\r\n\r\n'],
      );
      const bytes = fc.oneof(
        fc.array(pieces, { maxLength: 12 }).map((parts) => Buffer.from(parts.join(''), 'latin1')),
        fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
      );
      await fc.assert(
        fc.asyncProperty(fc.constantFrom('HTTP/1.1 200 OK\r\n', 'HTTP/1.0 200\n'), bytes, async (line, rest) => {
          response = Buffer.concat([Buffer.from(line), rest]);
          expect(await send(sender, url)).toMatchObject(success);
        }),
        { numRuns: 300 },
      );
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
  });

  describe('a connection is not used again', () => {
    test.each<[string, string]>([
      ['a second response arrived', OK.repeat(2)],
      ['many responses arrived', OK.repeat(2_000)],
      ['bytes arrived after the end', `${OK}and more`],
      ['an informational response arrived after the end', `${OK}${HINT}`],
      ['the content was more than 64 KiB', `HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n${'x'.repeat(65_537)}`],
      ['the chunk framing made it more than 64 KiB', `${HEAD}1;${'x'.repeat(65_536)}\r\na\r\n0\r\n\r\n`],
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
    limitResponses(socket, socket);
    for (let i = 0; i < 16; i++) socket.emit('session', Buffer.alloc(0));
    expect(socket.destroyed).toBe(false);
    socket.emit('session', Buffer.alloc(0));
    expect(socket.destroyed).toBe(true);
    expect(await failed).toEqual([expect.any(ProtocolFailure)]);
  });

  // Neither handshakes nor changes of keys on an open connection reach the code that counts the bytes of a response.
  test('regression: a TLS connection that renegotiates without end is cut off', async () => {
    const limit = tlsModule.CLIENT_RENEG_LIMIT;
    Object.assign(tlsModule, { CLIENT_RENEG_LIMIT: Number.POSITIVE_INFINITY });
    afterTest(() => Object.assign(tlsModule, { CLIENT_RENEG_LIMIT: limit }));
    const renegotiate = (socket: Socket) =>
      socket.destroyed || (socket as TLSSocket).renegotiate({}, () => setImmediate(renegotiate, socket));
    const { url } = await receiver(renegotiate, { tls: { ...tls, maxVersion: 'TLSv1.2' } });
    expect(await send(newSender(), url)).toMatchObject({
      error: 'protocol',
      detail: 'The receiver sends TLS records without content.',
    });
  });
});
