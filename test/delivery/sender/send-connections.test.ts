import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { NotSent } from '../../../src/delivery/sender/attempt-error.js';
import { createSender } from '../../../src/delivery/sender/send.js';
import { freePort } from '../../../src/platform/free-port.js';
import { type Answering, startRawReceiver } from '../../support/raw-receiver.js';
import { answered, closeAll, OK, outgoing, receiver, sender, turn } from '../../support/sender.js';

afterEach(closeAll);

describe('a request without a response', () => {
  const none = { responseStatus: null, responseBody: null };

  test('is refused when nothing listens', async () => {
    const { url, close } = await startRawReceiver(OK);
    await close();
    expect(await sender().send(outgoing(url))).toMatchObject({ error: 'refused', ...none });
  });

  test('is no outcome if this machine cannot open a connection: the error says that nothing was sent', async () => {
    const full = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
    const blocks = () => {
      throw full;
    };
    const { send, close } = createSender({ guard: { blocks, blocksLiteral: () => false } });
    await expect(send(outgoing('http://127.0.0.1:9'))).rejects.toThrow(new NotSent(full));
    await close();
  });

  test.each<[string, Answering | string]>([
    ['the connection is closed', (socket) => socket.end()],
    ['the connection is reset', (socket) => socket.resetAndDestroy()],
    ['the status line breaks off', (socket) => socket.end('HTTP/1.1 200 O')],
  ])('is a reset when %s', async (_, answering) => {
    expect(await answered(answering)).toMatchObject({ error: 'reset', ...none });
  });

  test.each<[string, Answering]>([
    ['nothing arrives', () => {}],
    ['the status line drips', drip],
    ['only a 1xx arrives', (socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\n')],
  ])('times out when %s, and its connection is closed', async (_, answering) => {
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

  test.each<[string, Answering]>([
    ['breaks off', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-')],
    [
      'is reset',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-', () => setTimeout(() => socket.resetAndDestroy(), 20)),
    ],
    ['never ends', (socket) => socket.write('HTTP/1.1 200 OK\r\nX-Slow: ')],
  ])('is a success if its status line is a 2xx and the head after it %s', async (_, answering) => {
    expect(await answered(answering, { responseMs: 2_000 })).toMatchObject({
      ...{ error: null, responseStatus: 200, responseHeaders: null, responseBody: null },
      detail: 'The head of the response was incomplete when the connection closed or the time ran out.',
    });
  });

  // It was recorded as a timeout, and sent again.
  test('regression: is a success if its status line came in time, but this process was too busy to read it', async () => {
    const responseMs = 1_000;
    const busy = new Int32Array(new SharedArrayBuffer(4));
    const beside = new Worker(RECEIVER, { eval: true, workerData: busy });
    try {
      const [port] = await once(beside, 'message');
      const since = performance.now();
      const sent = sender({ responseMs }).send(outgoing(`http://127.0.0.1:${port}/`));
      await once(beside, 'message');
      Atomics.store(busy, 0, 1);
      Atomics.notify(busy, 0);
      while (performance.now() < since + responseMs + 100);
      expect(await sent).toMatchObject({ error: null, responseStatus: 200, responseBody: 'ok' });
    } finally {
      await beside.terminate();
    }
  });
});

/** A receiver in a thread of its own. It says when the request is there, and responds once the other thread is busy. */
const RECEIVER = `
const { parentPort, workerData } = require('node:worker_threads');
const server = require('node:net').createServer((socket) => socket.once('data', () => {
  parentPort.postMessage('arrived');
  Atomics.wait(workerData, 0, 0);
  socket.write('HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok');
}));
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

function drip(socket: Socket): void {
  const bytes = `HTTP/1.1 200 OK${' and so on'.repeat(100)}`;
  let at = 0;
  const timer = setInterval(() => socket.write(bytes.charAt(at++)), 10);
  socket.once('close', () => clearInterval(timer));
}

describe('connections', () => {
  test('are not shared between clients', async () => {
    const { url, connections } = await receiver(OK);
    const { send } = sender();
    await send(outgoing(url, { clientId: 'one' }));
    await send(outgoing(url, { clientId: 'two' }));
    expect(connections()).toBe(2);
  });

  test('are opened again when the receiver closed them between two deliveries', async () => {
    const { url, connections } = await receiver((socket) => socket.end(OK));
    const { send } = sender();
    for (let i = 0; i < 5; i++) expect((await send(outgoing(url))).error).toBeNull();
    expect(connections()).toBe(5);
  });

  test('that break as the next request is sent cause one POST, recorded as a reset', async () => {
    const { url, requests, connections } = await receiver((socket, number) =>
      number === 1 ? socket.write(OK) : socket.resetAndDestroy(),
    );
    const { send } = sender();
    expect((await send(outgoing(url))).error).toBeNull();
    await turn();
    expect((await send(outgoing(url))).error).toBe('reset');
    expect([requests.length, connections()]).toEqual([2, 1]);
  });

  test('are as many as there are attempts at one receiver: none waits for a connection', async () => {
    const waiting: Socket[] = [];
    const { url } = await receiver((socket) => {
      waiting.push(socket);
      if (waiting.length === 120) for (const one of waiting) one.write(OK);
    });
    const { send } = sender({ responseMs: 5_000 });
    const outcomes = await Promise.all(Array.from({ length: 120 }, () => send(outgoing(url))));
    expect(outcomes.filter(({ error }) => error !== null)).toEqual([]);
  });

  test('reach IPv6 literals and localhost', async () => {
    const six = await receiver(OK, { host: '::1', port: await freePort() });
    const { send } = sender();
    expect((await send(outgoing(six.url))).error).toBeNull();
    // Nothing listens on this port of 127.0.0.1, which is tried first.
    expect((await send(outgoing(`http://localhost:${six.port}`))).error).toBeNull();
    expect((await send(outgoing(`http://a.LOCALHOST.:${six.port}`))).error).toBeNull();
    expect(six.requests[1]).toContain(`host: localhost:${six.port}\r\n`);
  });
});

describe('ending an attempt', () => {
  test('close waits for the attempts in flight and refuses new attempts', async () => {
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

// undici took the end of such a body for its completion, although the request was aborted: the process ended, or over
// TLS (send-tls.test.ts) the sender never closed.
test.each([
  'HTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello',
  'HTTP/1.0 500 Oh\r\n\r\nhello',
])('regression: a body that lasts until the connection closes is cut after its time: %j', async (head) => {
  const ended = Promise.withResolvers<NodeJS.ErrnoException | undefined>();
  const { url } = await receiver((socket) => {
    socket.on('error', ended.resolve).on('end', () => ended.resolve(undefined));
    socket.write(head);
  });
  const { send, close } = sender({ bodyMs: 100 });
  expect(await send(outgoing(url))).toMatchObject({ responseStatus: head.includes('200') ? 200 : 500 });
  expect(await ended.promise).toMatchObject({ code: 'ECONNRESET' });
  await close();
});

test('regression: the bytes of an attempt that timed out arrive no later, since its connection is reset', async () => {
  const ended = Promise.withResolvers<NodeJS.ErrnoException | undefined>();
  const { url } = await receiver((socket) => {
    socket.on('error', ended.resolve).on('end', () => ended.resolve(undefined));
  });
  expect(await sender({ responseMs: 100 }).send(outgoing(url))).toMatchObject({ error: 'timeout' });
  expect(await ended.promise).toMatchObject({ code: 'ECONNRESET' });
});
