import type { Socket } from 'node:net';
import { Secret } from '../../../src/secret.js';
import { createAddressGuard } from '../../../src/webhooks/sender/address-guard.js';
import {
  createSender,
  type Outgoing,
  type Sender,
  type SendLimits,
  type SendOutcome,
} from '../../../src/webhooks/sender/send.js';
import { verify } from '../../../src/webhooks/verify.js';
import { type Answering, type RawReceiver, startRawReceiver } from '../../support/raw-receiver.js';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const secret = new Secret('whsec_0123456789abcdef');
const body = '{"id":"1","data":{"name":"Zoë 東京"}}';
const guard = createAddressGuard({ allowPrivate: true, blocked: [] });

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function receiver(answering: Answering | string, host?: string): Promise<RawReceiver> {
  const started = await startRawReceiver(answering, host ? { host } : {});
  cleanUps.push(started.close);
  return started;
}

function sender(limits: Partial<SendLimits> = {}): Sender {
  const made = createSender({ guard, limits });
  cleanUps.push(made.close);
  return made;
}

function outgoing(url: string, changes: Partial<Outgoing> = {}): Outgoing {
  return { url, body, secret, clientId: 'client', ...changes };
}

/** One turn of the event loop, after which undici gives a connection out again. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Sends one to a receiver that answers so. */
async function answered(answering: Answering | string, limits?: Partial<SendLimits>): Promise<SendOutcome> {
  const { url } = await receiver(answering);
  return sender(limits).send(outgoing(url));
}

test('what goes over the wire is what the contract says, and nothing more', async () => {
  const { url, port, requests } = await receiver(OK);
  const outcome = await sender().send(outgoing(`${url}/hooks/a%20b?token=x&y=1`));
  expect(outcome).toMatchObject({ error: null, responseStatus: 200, responseBody: null });
  const [head, sent] = requests[0]!.split('\r\n\r\n') as [string, string];
  const [line, ...headers] = head.split('\r\n');
  expect(line).toBe('POST /hooks/a%20b?token=x&y=1 HTTP/1.1');
  const signature = headers
    .find((header) => header.startsWith('Service-Signature: '))!
    .slice('Service-Signature: '.length);
  expect(signature).toMatch(/^t=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,v0=[0-9a-f]{64}$/);
  expect(headers.sort()).toEqual([
    'Content-Type: application/json',
    `Service-Signature: ${signature}`,
    'User-Agent: Service-Webhooks/1.0',
    'connection: keep-alive',
    `content-length: ${Buffer.byteLength(body)}`,
    `host: 127.0.0.1:${port}`,
  ]);
  expect(Buffer.from(sent, 'latin1').toString()).toBe(body);
  expect(verify({ header: signature, body: Buffer.from(sent, 'latin1'), secret: secret.reveal() }).t).toEqual(
    outcome.startedAt,
  );
  expect(outcome.t).toBe(outcome.startedAt.toISOString());
});

test('each attempt signs the same bytes with a t of its own', async () => {
  const { url, requests } = await receiver((socket) => setTimeout(() => socket.write(OK), 5));
  const { send } = sender();
  const first = await send(outgoing(url));
  const second = await send(outgoing(url));
  expect(second.t > first.t).toBe(true);
  expect(requests.map((request) => request.split('\r\n\r\n')[1])).toEqual(
    Array(2).fill(Buffer.from(body).toString('latin1')),
  );
});

describe('a status', () => {
  const withStatus = (status: number) =>
    `HTTP/1.1 ${status} X\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 2\r\n\r\nhi`;

  test.each([200, 201, 202, 206, 299])('%i is success', async (status) => {
    expect(await answered(withStatus(status))).toMatchObject({
      error: null,
      responseStatus: status,
      responseBody: 'hi',
    });
  });

  test('204 is success with no body', async () => {
    expect(await answered('HTTP/1.1 204 No Content\r\n\r\n')).toMatchObject({
      error: null,
      responseStatus: 204,
      responseBody: null,
    });
  });

  test.each([300, 301, 302, 303, 307, 308, 399])('%i is a redirect, which is not followed', async (status) => {
    const { url, requests } = await receiver(withStatus(status));
    expect(await sender().send(outgoing(url))).toMatchObject({
      error: 'redirect',
      responseStatus: status,
      responseBody: 'hi',
    });
    expect(requests).toHaveLength(1);
  });

  test.each([400, 401, 404, 410, 429, 500, 503, 599, 600, 999])('%i is a failure', async (status) => {
    expect(await answered(withStatus(status))).toMatchObject({
      error: 'status',
      responseStatus: status,
      responseBody: 'hi',
    });
  });

  test('may come in HTTP/1.0, the connection closed after it', async () => {
    expect(await answered((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nbye'))).toMatchObject({
      error: null,
      responseBody: 'bye',
    });
  });
});

describe('the body', () => {
  const chunked = (...chunks: Buffer[]) =>
    Buffer.concat([
      Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
      ...chunks.flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
      Buffer.from('0\r\n\r\n'),
    ]);

  test('is kept up to 4 KiB, and read on so that the connection can be used again', async () => {
    const { url, connections } = await receiver((socket) =>
      socket.write(chunked(Buffer.alloc(3000, 'a'), Buffer.alloc(60_000, 'b'))),
    );
    const { send } = sender();
    const { responseBody } = await send(outgoing(url));
    expect(responseBody).toBe('a'.repeat(3000) + 'b'.repeat(1096));
    await turn();
    await send(outgoing(url));
    expect(connections()).toBe(1);
  });

  test('is decoded as UTF-8 with replacement, without U+0000', async () => {
    const bytes = Buffer.concat([Buffer.from('a\0é'), Buffer.from([0xff, 0xc3, 0x28])]);
    expect((await answered((socket) => socket.write(chunked(bytes)))).responseBody).toBe('aé\ufffd\ufffd(');
  });

  test('of more than 64 KiB is cut, and the connection with it', async () => {
    const closed: Promise<unknown>[] = [];
    const { url } = await receiver((socket) => {
      closed.push(new Promise((resolve) => socket.once('close', resolve)));
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n');
      const more = () => socket.destroyed || socket.write(Buffer.alloc(16_384, 'x'), more);
      more();
    });
    const outcome = await sender({ bodyMs: 60_000 }).send(outgoing(url));
    expect(outcome).toMatchObject({ error: null, responseStatus: 200, responseBody: 'x'.repeat(4096) });
    await Promise.all(closed);
  });

  test('that drips or never ends is cut; what came of it is kept', async () => {
    const closed: Promise<unknown>[] = [];
    const { url } = await receiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n.');
      const drip = setInterval(() => socket.write('.'), 10);
      closed.push(new Promise((resolve) => socket.once('close', resolve)).finally(() => clearInterval(drip)));
    });
    const outcome = await sender({ bodyMs: 200 }).send(outgoing(url));
    expect(outcome).toMatchObject({ error: null, responseStatus: 200 });
    expect(outcome.responseBody).toMatch(/^\.+$/);
    await Promise.all(closed);
  });

  test.each<[string, Answering]>([
    [
      'breaks off',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', () => socket.resetAndDestroy()),
    ],
    ['is shorter than announced', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')],
    [
      'is garbage where a chunk should be',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'),
    ],
  ])('that %s takes nothing away from the success', async (_, answering) => {
    expect(await answered(answering)).toMatchObject({ error: null, responseStatus: 200 });
  });

  test('that breaks off after a failure leaves its status', async () => {
    expect(await answered((socket) => socket.end('HTTP/1.1 500 X\r\nContent-Length: 10\r\n\r\nabc'))).toMatchObject({
      error: 'status',
      responseStatus: 500,
      responseBody: 'abc',
    });
  });
});

describe('no answer', () => {
  const none = { responseStatus: null, responseBody: null };

  test('refused: nobody listens', async () => {
    const { url, close } = await startRawReceiver(OK);
    await close();
    expect(await sender().send(outgoing(url))).toMatchObject({ error: 'refused', ...none });
  });

  test.each<[string, Answering | string]>([
    ['the connection is closed', (socket) => socket.end()],
    ['the connection is reset', (socket) => socket.resetAndDestroy()],
    ['the head breaks off', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-')],
  ])('reset: %s', async (_, answering) => {
    expect(await answered(answering)).toMatchObject({ error: 'reset', ...none });
  });

  test.each<[string, Answering]>([
    ['nothing comes', () => {}],
    ['the head drips', drip],
    ['only a 1xx comes', (socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\n')],
  ])('timeout: %s; the connection is ended', async (_, answering) => {
    const closed: Promise<unknown>[] = [];
    const { url } = await receiver((socket, number) => {
      closed.push(new Promise((resolve) => socket.once('close', resolve)));
      answering(socket, number);
    });
    const outcome = await sender({ responseMs: 200 }).send(outgoing(url));
    expect(outcome).toMatchObject({ error: 'timeout', ...none });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(199);
    await Promise.all(closed);
  });

  test('dns: the name does not exist (RFC 6761 keeps .invalid free)', async () => {
    const lookUp = async () => {
      throw Object.assign(new Error('queryA ENOTFOUND receiver.invalid'), { code: 'ENOTFOUND' });
    };
    const asking = createSender({ guard, resolver: { lookUp } });
    cleanUps.push(asking.close);
    expect(await asking.send(outgoing('http://receiver.invalid/'))).toMatchObject({ error: 'dns', ...none });
  });
});

function drip(socket: Socket): void {
  const bytes = 'HTTP/1.1 200 OK\r\nX-Slow: yes and so on\r\n'.repeat(100);
  let at = 0;
  const timer = setInterval(() => socket.write(bytes.charAt(at++)), 10);
  socket.once('close', () => clearInterval(timer));
}

describe('connections', () => {
  test('are used again', async () => {
    const { url, connections, requests } = await receiver(OK);
    const { send } = sender();
    for (let i = 0; i < 20; i++) {
      expect((await send(outgoing(url))).error).toBeNull();
      await turn();
    }
    expect(requests).toHaveLength(20);
    expect(connections()).toBe(1);
  });

  test('are not shared between clients', async () => {
    const { url, connections } = await receiver(OK);
    const { send } = sender();
    await send(outgoing(url, { clientId: 'one' }));
    await send(outgoing(url, { clientId: 'two' }));
    expect(connections()).toBe(2);
  });

  test('that the receiver closed between two deliveries are made anew', async () => {
    const { url, connections } = await receiver((socket) => socket.end(OK));
    const { send } = sender();
    for (let i = 0; i < 5; i++) expect((await send(outgoing(url))).error).toBeNull();
    expect(connections()).toBe(5);
  });

  test('kept ones that break as the next request arrives: one attempt is one POST, and is a reset', async () => {
    const { url, requests, connections } = await receiver((socket, number) =>
      number === 1 ? socket.write(OK) : socket.resetAndDestroy(),
    );
    const { send } = sender();
    expect((await send(outgoing(url))).error).toBeNull();
    await turn();
    expect((await send(outgoing(url))).error).toBe('reset');
    expect([requests.length, connections()]).toEqual([2, 1]);
  });

  test('one slow answer does not hold up the next request', async () => {
    const slow: Socket[] = [];
    const { url } = await receiver((socket, number) => (number === 1 ? slow.push(socket) : socket.write(OK)));
    const { send } = sender();
    const first = send(outgoing(url));
    while (slow.length === 0) await turn();
    expect((await send(outgoing(url))).error).toBeNull();
    slow[0]!.write(OK);
    expect((await first).error).toBeNull();
  });

  test('IPv6 literals and localhost are reached', async () => {
    const six = await receiver(OK, '::1');
    const { send } = sender();
    expect((await send(outgoing(six.url))).error).toBeNull();
    // Nobody listens there on 127.0.0.1, which is tried first.
    expect((await send(outgoing(`http://localhost:${six.port}`))).error).toBeNull();
    expect((await send(outgoing(`http://a.LOCALHOST.:${six.port}`))).error).toBeNull();
    expect(six.requests[1]).toContain(`host: localhost:${six.port}\r\n`);
  });
});

describe('giving up', () => {
  test('a signal that aborts ends the attempt with its reason, and the connection', async () => {
    const stop = new AbortController();
    const closed: Promise<unknown>[] = [];
    const { url } = await receiver((socket) => {
      closed.push(new Promise((resolve) => socket.once('close', resolve)));
      stop.abort(new Error('shutting down'));
    });
    await expect(sender().send(outgoing(url, { signal: stop.signal }))).rejects.toThrow('shutting down');
    expect(closed).toHaveLength(1);
    await Promise.all(closed);
  });

  test('one that has aborted already sends nothing', async () => {
    const { url, connections } = await receiver(OK);
    await expect(sender().send(outgoing(url, { signal: AbortSignal.abort(new Error('late')) }))).rejects.toThrow(
      'late',
    );
    expect(connections()).toBe(0);
  });

  test('close waits for what is under way and takes no more', async () => {
    let asked: Socket | undefined;
    const { url } = await receiver((socket) => {
      asked = socket;
    });
    const closing = sender();
    const under = closing.send(outgoing(url));
    while (!asked) await turn();
    const closed = closing.close();
    await expect(closing.send(outgoing(url))).rejects.toThrow('closed');
    asked.write(OK);
    expect((await under).error).toBeNull();
    await closed;
  });
});
