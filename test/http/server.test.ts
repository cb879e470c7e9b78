import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Koa from 'koa';
import { CONNECTION_LIMITS, type Listening, listen, toConfigError } from '../../src/http/server.js';
import { PROBLEMS } from '../../src/platform/refusal.js';
import { waitFor } from '../support/wait-for.js';

const baseUrl = 'https://api.example.com';
const config = { baseUrl, host: '127.0.0.1', port: 0, allowedNetworks: [], trustedProxies: [] };

let server: Listening;
let release: () => void;
let entered: Promise<void>;

beforeEach(async () => {
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  ({ promise: entered } = arrived);
  ({ resolve: release } = released);
  const app = new Koa();
  app.use(async (ctx) => {
    if (ctx.path === '/slow') {
      arrived.resolve();
      await released.promise;
    }
    ctx.body = ctx.url;
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
  it('lets a request in flight end, accepts no new one, and then closes the connection', async () => {
    const url = `http://127.0.0.1:${server.port}`;
    const slow = fetch(`${url}/slow`);
    await entered;
    const closed = server.close();
    await waitFor('no further connection', () =>
      fetch(url)
        .then(() => false)
        .catch(() => true),
    );
    release();
    const reply = await slow;
    expect([reply.status, await reply.text(), reply.headers.get('connection')]).toEqual([200, '/slow', 'close']);
    await closed;
  });

  it('waits for no connection that is idle, or was never used', async () => {
    await (await fetch(`http://127.0.0.1:${server.port}/`)).text();
    const unused = connect(server.port, '127.0.0.1');
    await once(unused, 'connect');
    await server.close();
    // Less than a request in flight is given.
  }, 8_000);

  it('first keeps serving for the given time, and asks every client to close its connection', async () => {
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

it('names the setting that is wrong if it cannot listen', async () => {
  const faultOf = (wanted: object) => listen(new Koa(), { ...config, ...wanted }).catch(toConfigError('PORT'));
  await expect(faultOf({ port: server.port })).rejects.toThrow(/^PORT: .*EADDRINUSE/);
  await expect(faultOf({ host: '203.0.113.1' })).rejects.toThrow(/^HOST: .*EADDRNOTAVAIL/);
  await expect(faultOf({ host: 'name.invalid' })).rejects.toThrow(/^HOST: .*(ENOTFOUND|EAI_AGAIN) name.invalid/);
});

describe('a request that never reaches the application', () => {
  const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/);
  /** The problem in a response, whose id must also be in the header. */
  async function problemOf(text: string) {
    const answer = await exchange(text);
    const problem = JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1));
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${problem.status} `));
    expect(answer).toMatch(/\r\nContent-Type: application\/problem\+json\r\n/);
    expect(answer).toContain(`\r\nX-Request-Id: ${problem.request_id}\r\n`);
    return problem;
  }

  it.each([
    ['no request line', 'hello\r\n\r\n', 400, undefined],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400, undefined],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
      undefined,
    ],
    ['headers of 100 KB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, 431, undefined],
    ['two Host headers', 'GET /a%zz?b=c HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 400, '/a%25zz'],
    ['no Host header', 'GET /a HTTP/1.1\r\n\r\n', 400, '/a'],
    // Koa failed to parse these targets. The response was 500 in plain text, and the in-flight gauge never fell.
    ['a target that is no URL', 'GET http://[::1 HTTP/1.1\r\nHost: x\r\n\r\n', 400, undefined],
    ['a target without a host', 'GET http:// HTTP/1.1\r\nHost: x\r\n\r\n', 400, undefined],
    ['a target of another scheme', 'GET ftp://x/a HTTP/1.1\r\nHost: x\r\n\r\n', 400, undefined],
    ['an unknown expectation', 'GET /a HTTP/1.1\r\nHost: x\r\nExpect: pony\r\n\r\n', 417, '/a'],
  ])('gets a problem with a request id: %s', async (_, text, status, instance) => {
    const problem = await problemOf(text);
    expect(problem).toMatchObject({
      type: `${baseUrl}/docs/guide#malformed_request`,
      status,
      code: 'malformed_request',
      request_id: UUID,
    });
    expect(problem.instance).toBe(instance);
    const { status: usual, otherStatuses } = PROBLEMS.malformed_request;
    expect([usual, ...otherStatuses]).toContain(status);
  });
});

it('reads the path and query of a target that is a whole URL', async () => {
  const answer = await exchange('GET http://a.test/b?c=d HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n');
  expect(answer).toMatch(/\r\n\r\n\/b\?c=d$/);
});

describe('what cannot be read behind a request that is in progress', () => {
  const SLOW = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n';
  const statuses = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);

  it.each([
    ['no request', 'pony\r\n\r\n'],
    ['the body of a request that waits', 'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\npony\r\n'],
  ])('is refused after the response to that request: %s', async (_, rubbish) => {
    const answers = exchange(SLOW + SLOW + rubbish);
    void entered.then(() => release());
    expect(statuses(await answers)).toEqual(['200', '200', '400']);
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

  async function another(localAddress = '127.0.0.1'): Promise<Socket> {
    const socket = connect({ port: strict?.port ?? 0, host: '127.0.0.1', localAddress });
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

  it('and never reads its responses is cut off', async () => {
    await cutOff(await connectTo({ responseTaken: 200, pipelined: 1_000 }));
  });

  it('is cut off if no byte passes in either direction', async () => {
    const socket = await connectTo({ silence: 200 });
    socket.resume();
    socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'close');
  });

  it('has one request in progress at a time, and gets every response in order', async () => {
    const app = new Koa();
    let atOnce = 0;
    let most = 0;
    app.use(async (ctx) => {
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce--;
      ctx.body = `path ${ctx.path};`;
    });
    strict = await listen(app, config);
    const socket = await another();
    const paths = Array.from({ length: 20 }, (_, index) => `/${index}`);
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
    while (!text.includes('path /19;')) await once(socket, 'data');
    expect(text.match(/(?<=path )\/\d+(?=;)/g)).toEqual(paths);
    expect(most).toBe(1);
  });

  it('does not keep another connection waiting until all of its pipelined requests are handled', async () => {
    const handled: string[] = [];
    const app = new Koa();
    app.use((ctx) => {
      handled.push(ctx.path);
      ctx.body = 'done';
    });
    strict = await listen(app, config, { ...CONNECTION_LIMITS, pipelined: 100 });
    const [many, single] = [(await another()).resume(), await another()];
    many.write('GET /many HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(100));
    single.write('GET /single HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(single, 'data');
    expect(handled.indexOf('/single')).toBeLessThan(50);
  });

  it('is closed if it sends more requests than may wait', async () => {
    const socket = await connectTo({ pipelined: 10 });
    socket.resume();
    const request = 'GET /never HTTP/1.1\r\nHost: a\r\n\r\n';
    socket.write(request.repeat(11));
    // The server still serves: all of them may wait.
    (await another()).destroy();
    expect(socket.destroyed).toBe(false);
    socket.write(request);
    await once(socket, 'close');
  });

  const accepted = async (socket: Socket) => {
    socket.resume().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    return Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
  };

  it('is one of a limited number from its address; a trusted proxy may have more', async () => {
    const first = await connectTo({ connectionsPerAddress: 1 });
    expect(await accepted(first)).toBe(true);
    expect(await accepted(await another())).toBe(false);
    expect(await accepted(await another('127.0.0.2'))).toBe(true);
    first.destroy();
    while (!(await accepted(await another())));
    const limits = { ...CONNECTION_LIMITS, connectionsPerAddress: 1 };
    await strict?.close();
    strict = await listen(
      new Koa().use((ctx) => {
        ctx.body = 'done';
      }),
      { ...config, trustedProxies: ['127.0.0.1/32'] },
      limits,
    );
    for (let index = 0; index < 3; index++) expect(await accepted(await another())).toBe(true);
  });

  it('is one of a limited number: a further one is closed, and takes its place when it has gone', async () => {
    const first = await connectTo({ connections: 1 });
    expect([await accepted(first), await accepted(await another())]).toEqual([true, false]);
    expect(first.destroyed).toBe(false);
    first.destroy();
    while (!(await accepted(await another())));
  });
});
