import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '../platform/config/config.js';
import { lockHolder } from './lock.js';

/** Calls the API with the demo's token. @throws Error if the response is no success */
export type Api = <T = void>(method: string, path: string, body?: unknown) => Promise<T>;

/** Gets a token. @returns also the token's lifetime in seconds */
export async function signIn(client: SandboxClient): Promise<{ api: Api; expiresIn: number }> {
  const { auth_url, base_url, client_id, client_secret } = client;
  const grant = { client_id, client_secret, audience: base_url, grant_type: 'client_credentials' };
  const token = await call<{ access_token: string; expires_in: number }>('POST', `${auth_url}/oauth/token`, {}, grant);
  const headers = { authorization: `Bearer ${token.access_token}` };
  return { api: (method, path, body) => call(method, base_url + path, headers, body), expiresIn: token.expires_in };
}

async function call<T>(method: string, url: string, headers: Record<string, string>, body?: unknown): Promise<T> {
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} returned ${response.status}: ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** The part of `LOCAL_DIR/sandbox-client.json` that the demo reads. */
export interface SandboxClient {
  auth_url: string;
  base_url: string;
  client_id: string;
  client_secret: string;
  temporal_namespace: string;
  temporal_ui_url: string;
}

export interface DemoService {
  client: SandboxClient;
  /** False: the service was already running, and the demo does not end it. */
  startedHere: boolean;
}

/** Starts the service as `npm start` does, unless it is already running under LOCAL_DIR. */
export async function startService(stops: (() => Promise<void>)[]): Promise<DemoService> {
  const { LOCAL_DIR } = readEnvironment(process.env);
  if (lockHolder(LOCAL_DIR)) return { client: readClient(LOCAL_DIR), startedHere: false };
  const service = spawn(process.execPath, [fileURLToPath(new URL('../main.js', import.meta.url))], {
    // Ctrl-C must not reach the service: the demo ends it once.
    detached: true,
    env: { LOG_LEVEL: 'error', ...process.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stops.push(stopWithParent(service));
  await firstLine(service, 'the service');
  return { client: readClient(LOCAL_DIR), startedHere: true };
}

/**
 * Ends `child` when this process ends, unless this process is killed.
 * @returns a function that ends `child` and waits for its end
 */
function stopWithParent(child: ChildProcess): () => Promise<void> {
  process.once('exit', () => child.kill('SIGTERM'));
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
}

/** The first line that a child process prints. @throws Error if the process ends before that */
async function firstLine(child: ChildProcess, name: string): Promise<string> {
  if (!child.stdout) throw new Error(`${name} has no standard output`);
  const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text));
  const end = once(child, 'exit').then(() => {
    throw new Error(`${name} ended before it was ready`);
  });
  return Promise.race([line, end]);
}

function readClient(folder: string): SandboxClient {
  return JSON.parse(readFileSync(join(folder, 'sandbox-client.json'), 'utf8')) as SandboxClient;
}

/** A line of `listen --json`. */
export interface Received {
  received_at: string;
  id: string;
  type: string;
  /** Null if the body is no event, as in a check of the receiver. */
  data: { id: string; status: string } | null;
  verified: boolean;
  header: string;
  answered: number;
}

export interface DemoReceiver {
  url: string;
  secret: string;
  /** The next delivery of an event whose transfer has the status `status`. */
  received(status: string): Promise<Received>;
}

/** Starts a receiver in another process: `transfer-service listen`. */
export async function startDemoReceiver(failFirst: number, stops: (() => Promise<void>)[]): Promise<DemoReceiver> {
  const secret = randomBytes(24).toString('base64url');
  const folder = mkdtempSync(join(tmpdir(), 'demo-'));
  const cli = fileURLToPath(new URL('../cli.js', import.meta.url));
  const secretFile = join(folder, 'secret');
  writeFileSync(secretFile, secret, { mode: 0o600 });
  const options = ['--port', '0', '--json', '--fail', String(failFirst), '--secret-file', secretFile];
  const receiver = spawn(process.execPath, [cli, 'listen', ...options], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stops.push(stopWithParent(receiver));
  const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('the receiver has ended');
    return JSON.parse(value);
  };
  const { listening } = (await next()) as { listening: string };
  rmSync(folder, { recursive: true });
  return {
    url: listening,
    secret,
    async received(status) {
      for (;;) {
        const delivery = (await next()) as Received;
        if (delivery.data?.status === status) return delivery;
      }
    },
  };
}
