// A client of the API and its receivers, in a network namespace of its own: environment.mjs calls its operations over IPC.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { Agent, request } from 'undici';

const HOST = 'api.internal';
const [address] = process.argv.slice(2);
let agent;
let issuer;

const operations = {
  /** @param ca the certificate of the proxy's issuer */
  trust(ca) {
    issuer = ca;
    agent = new Agent({
      connect: {
        ca,
        lookup: (_name, { all }, done) => (all ? done(null, [{ address, family: 4 }]) : done(null, address, 4)),
      },
      connections: 64,
      headersTimeout: 40_000,
    });
  },
  call,
  /** Sends bytes to the proxy, whether they are HTTP or not. @returns the response's bytes */
  send(text) {
    const socket = connect({ host: address, port: 443, servername: HOST, ca: issuer }, () => socket.write(text));
    return new Promise((resolve) => {
      let response = '';
      socket.on('data', (chunk) => {
        response += chunk;
        socket.end();
      });
      socket.on('error', () => {}).on('close', () => resolve(response));
    });
  },
  /** Starts a receiver that responds 200, and remembers the first arrival and the number of deliveries of a transfer. */
  listen(port) {
    const server = createServer((message, response) => {
      let text = '';
      message.on('data', (chunk) => {
        text += chunk;
      });
      message.on('end', () => {
        const { data } = JSON.parse(text);
        const key = `${port} ${data.id}`;
        const { count = 0, at = Date.now() } = received.get(key) ?? {};
        received.set(key, { count: count + 1, at, text, signature: message.headers['service-signature'] });
        response.end();
      });
    });
    return new Promise((resolve) => server.listen(port, '0.0.0.0', () => resolve()));
  },
  received: (port, transfer) => received.get(`${port} ${transfer}`),
  /** Changes the status of `rate` new transfers a second until `stopLoad`. @param token of a client @param port of its receiver */
  startLoad({ name, token, rate, port }) {
    loads.set(name, startLoad({ token, rate, port }));
  },
  acknowledged: (name) => loads.get(name).report().acknowledged,
  /** @returns what was acknowledged, and what has arrived `patience` ms later at the latest */
  async stopLoad(name, patience) {
    const { stop, report } = loads.get(name);
    await stop();
    for (const end = Date.now() + patience; Date.now() < end && report().missing.length > 0; ) await sleep(500);
    return report();
  },
};

const received = new Map();
const loads = new Map();

async function call({ method = 'GET', path, token, body, headers = {} }) {
  const response = await request(`https://${HOST}${path}`, {
    method,
    dispatcher: agent,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.body.text();
  const { statusCode: status } = response;
  return { status, headers: response.headers, text, body: text.startsWith('{') ? JSON.parse(text) : undefined };
}

const TRANSFER = {
  amount: { value: 1250, currency: 'EUR' },
  destination: { name: 'Ada Example', account: 'DE89370400440532013000' },
};

function startLoad({ token, rate, port }) {
  const changes = new Map();
  const running = new Set();
  const failures = [];
  let slowest = 0;
  let requests = 0;
  let stopped = false;
  const timed = async (what) => {
    const from = Date.now();
    requests++;
    const answer = await call({ token, ...what }).catch((error) => ({ status: error.code ?? error.message }));
    slowest = Math.max(slowest, Date.now() - from);
    if (!(answer.status < 300)) {
      // The API's responses have passed the proxy; its own have not.
      const by = answer.headers && (answer.headers.via ? 'API' : 'proxy');
      const kind = [answer.status, answer.body?.code, by].filter(Boolean).join(' ');
      failures.push({ at: from, kind, path: what.path, detail: answer.body?.detail });
    }
    return answer;
  };
  const change = async () => {
    const made = await timed({ method: 'POST', path: '/transfers', body: TRANSFER });
    if (made.status !== 201) return;
    const path = `/sandbox/transfers/${made.body.id}/status`;
    const changed = await timed({ method: 'POST', path, body: { status: 'PROCESSING' } });
    if (changed.status === 200) changes.set(made.body.id, Date.now());
  };
  const timer = setInterval(() => {
    const work = change().finally(() => running.delete(work));
    running.add(work);
  }, 1_000 / rate);
  return {
    async stop() {
      if (stopped) return;
      stopped = true;
      clearInterval(timer);
      await Promise.all(running);
    },
    report() {
      const missing = [...changes.keys()].filter((id) => !received.has(`${port} ${id}`));
      const arrived = [...changes].flatMap(([id, at]) => {
        const delivery = received.get(`${port} ${id}`);
        return delivery ? [{ ...delivery, delay: Math.max(0, delivery.at - at) }] : [];
      });
      const delays = arrived.map(({ delay }) => delay).sort((a, b) => a - b);
      const delay = (share) => delays[Math.min(delays.length - 1, Math.floor(share * delays.length))];
      return {
        ...{ requests, acknowledged: changes.size, missing, failures, slowest },
        /** How far the clock of a signature is ahead of this process's, s. */
        ahead: Math.max(
          0,
          ...arrived.map(({ signature, at }) => (Date.parse(/t=([^,]+)/.exec(signature)[1]) - at) / 1_000),
        ),
        twice: arrived.filter(({ count }) => count > 1).length,
        delays: { p50: delay(0.5), p99: delay(0.99), max: delay(1) },
      };
    },
  };
}

process.on('message', async ({ id, operation, args }) => {
  try {
    process.send({ id, result: await operations[operation](...args) });
  } catch (error) {
    process.send({ id, error: `${operation}: ${error.stack}` });
  }
});
process.on('disconnect', () => process.exit());
