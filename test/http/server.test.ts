import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Koa from 'koa';
import { CONNECTION_LIMITS, type Listening, listen } from '../../src/http/server.js';

const config = { host: '127.0.0.1', port: 0, allowedNetworks: [], trustedProxies: [] };

let server: Listening;
let release: () => void;
let entered: Promise<void>;

beforeEach(async () => {
  let enter = () => {};
  entered = new Promise((resolve) => {
    enter = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const app = new Koa();
  app.use(async (ctx) => {
    if (ctx.path === '/slow') {
      enter();
      await released;
    }
    ctx.body = 'done';
  });
  server = await listen(app, config);
});
afterEach(async () => {
  release();
  await server.close();
});

/** Sends bytes and gives back all that came until the other side closed. */
function exchange(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(server.port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (data) => {
      answer += data;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

describe('close', () => {
  it('lets a request in flight end, takes no new one, and closes the connection after it', async () => {
    const url = `http://127.0.0.1:${server.port}`;
    const slow = fetch(`${url}/slow`);
    await entered;
    const closed = server.close();
    await expect(fetch(url)).rejects.toThrow();
    release();
    const reply = await slow;
    expect([reply.status, await reply.text(), reply.headers.get('connection')]).toEqual([200, 'done', 'close']);
    await closed;
  });

  it('waits for no connection that is idle, or was never used', async () => {
    await (await fetch(`http://127.0.0.1:${server.port}/`)).text();
    const unused = connect(server.port, '127.0.0.1');
    await once(unused, 'connect');
    await server.close();
    // Less than a request in flight is given.
  }, 8_000);

  it('first serves on for as long as it is told, and asks every client to let its connection go', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const get = async () => {
      const [reply] = await once(request({ agent, host: '127.0.0.1', port: server.port }).end(), 'response');
      reply.resume();
      await once(reply, 'end');
      return [reply.statusCode, reply.headers.connection];
    };
    expect(await get()).toEqual([200, 'keep-alive']);
    void server.close(3_600_000);
    // On the connection that was kept, then on a new one.
    expect(await get()).toEqual([200, 'close']);
    expect(await get()).toEqual([200, 'close']);
    await server.close();
    await expect(get()).rejects.toThrow('ECONNREFUSED');
  });
});

describe('what is no HTTP', () => {
  it.each([
    ['no request line', 'hello\r\n\r\n', 400],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
    ['length and chunks', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ['headers of 100 KB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
  ])('gets a problem: %s', async (_, text, status) => {
    const answer = await exchange(text);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain('application/problem+json');
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ status, code: 'malformed_request' });
  });
});

it('says which port is taken, as an error that can be told apart', async () => {
  await expect(listen(new Koa(), { ...config, port: server.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

describe('what never reaches the application', () => {
  it.each([
    ['a request with no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['an expectation that nobody knows', 'GET / HTTP/1.1\r\nHost: x\r\nExpect: pony\r\n\r\n', 417],
    ['no HTTP at all', 'pony\r\n\r\n', 400],
  ])('gets problem+json too: %s', async (_, text, status) => {
    const answer = await exchange(text);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/content-type: application\/problem\+json/i);
    expect(JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1))).toMatchObject({ status });
  });
});

describe('a client that holds on to its connection', () => {
  const ANSWER = 'x'.repeat(1_000_000);
  /** The whole path between the two ends holds less than this: the kernel's buffers are some MB. */
  const ANSWERS = 30;
  let strict: Listening | undefined;
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await strict?.close();
    strict = undefined;
  });

  async function connectTo(limits: Partial<typeof CONNECTION_LIMITS>): Promise<Socket> {
    const app = new Koa();
    app.use(async (ctx) => {
      if (ctx.path === '/never') await new Promise(() => {});
      ctx.body = ANSWER;
    });
    strict ??= await listen(app, config, { ...CONNECTION_LIMITS, ...limits });
    return another();
  }

  async function another(): Promise<Socket> {
    const socket = connect(strict?.port ?? 0, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  }

  /** Asks for more than fits between the two, and reads nothing; resolves once this end learns that it was cut off. */
  async function cutOff(socket: Socket): Promise<void> {
    socket.pause();
    const closed = new Promise<void>((resolve) => {
      const timer = setInterval(() => socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'), 50);
      socket.once('close', () => {
        clearInterval(timer);
        resolve();
      });
    });
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(ANSWERS));
    await closed;
  }

  it('and never reads its answers is cut off', async () => {
    await cutOff(await connectTo({ answerTaken: 200 }));
  });

  it('is cut off where no byte passes in either direction', async () => {
    const socket = await connectTo({ silence: 200 });
    socket.resume();
    socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'close');
  });

  it('is one of a limited number: a further one is closed, and takes its place when it has gone', async () => {
    const first = await connectTo({ connections: 1 });
    first.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(first, 'data');
    const second = (await another()).resume();
    await once(second, 'close');
    expect(first.destroyed).toBe(false);
    first.destroy();
    for (;;) {
      const third = (await another()).resume();
      third.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      const arrived = await Promise.race([
        once(third, 'data').then(() => true),
        once(third, 'close').then(() => false),
      ]);
      if (arrived) break;
    }
  });
});
