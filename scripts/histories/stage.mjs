// The real service for the recorder: the embedded stack, an API, a worker, and a receiver whose responses a path
// controls.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { startStack } from '../../dist/src/local/stack.js';

const cli = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url));
const PORTS = { PORT: '0', POSTGRES_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0' };

/** @param ladder DELIVERY_RETRY_DELAYS */
export async function openStage(ladder) {
  const { PATH, HOME } = process.env;
  const folder = mkdtempSync(join(tmpdir(), 'histories-'));
  chmodSync(folder, 0o711);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const stack = await startStack({ PATH, HOME, ...PORTS, LOCAL_DIR: join(folder, 'local') }, console.error);
  await stack.temporal.ready;
  const env = {
    ...stack.env,
    DELIVERY_RETRY_DELAYS: ladder,
    SANDBOX_STEP: '1s',
    RATE_LIMIT: '1000',
    LOG_LEVEL: 'error',
  };
  const run = (...args) => execFileSync(process.execPath, [cli, ...args], { env, encoding: 'utf8' });
  run('migrate');
  const credentials = JSON.parse(run('clients', 'create', '--json', '--name', 'Example'));
  const stops = [];
  const start = async (role, differs = {}) => {
    const stop = await startRole(role, { ...env, ...differs });
    stops.push(stop);
    return stop;
  };
  await start('api');
  const receiver = await startReceiver();
  const connection = await Connection.connect({ address: env.TEMPORAL_ADDRESS });
  return {
    call: await caller(env, credentials),
    receiver,
    temporal: new Client({ connection, namespace: env.TEMPORAL_NAMESPACE }),
    /** @returns a function that ends the process */
    startWorker: (differs) => start('worker', differs),
    async close() {
      for (const stop of stops.reverse()) await stop();
      await connection.close();
      receiver.close();
      await stack.stop();
    },
  };
}

async function startRole(role, env) {
  const child = spawn(process.execPath, [cli, role], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ready = once(createInterface({ input: child.stdout }), 'line');
  const failed = once(child, 'exit').then(() => {
    throw new Error(`${role} ended before it was ready`);
  });
  await Promise.race([ready, failed]);
  failed.catch(() => undefined);
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
}

/** Starts a receiver. Each of its URLs has its own function from the attempt's number to a status. */
async function startReceiver() {
  const answers = [];
  const server = createServer(async (request, response) => {
    request.resume();
    const place = answers[Number(request.url.slice(1))];
    response.writeHead(await place.answer(++place.seen)).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  return {
    port,
    /** @param host `127.0.0.1` or `localhost`: two names distinguish two receivers */
    place(answer, host = '127.0.0.1') {
      answers.push({ answer, seen: 0 });
      return `http://${host}:${port}/${answers.length - 1}`;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function caller({ BASE_URL, AUTH_URL }, { client_id, client_secret }) {
  const send = async (method, url, json, headers) => {
    const body = json === undefined ? null : JSON.stringify(json);
    const response = await fetch(url, { method, headers: { ...headers, 'content-type': 'application/json' }, body });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const login = { client_id, client_secret, audience: BASE_URL, grant_type: 'client_credentials' };
  const { access_token: token } = await send('POST', `${AUTH_URL}/oauth/token`, login);
  return (method, path, json) => send(method, BASE_URL + path, json, { authorization: `Bearer ${token}` });
}

/** Polls `condition` until it returns a value. */
export async function until(what, condition, timeout = 60_000) {
  for (const deadline = Date.now() + timeout; ; await sleep(20)) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`timeout while waiting for ${what}`);
  }
}
