import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '../config.js';
import { lockHolder } from './lock.js';

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
  if (isRunning(LOCAL_DIR)) return { client: readClient(LOCAL_DIR), startedHere: false };
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
export function stopWithParent(child: ChildProcess): () => Promise<void> {
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

function isRunning(folder: string): boolean {
  try {
    return lockHolder(realpathSync(folder)) !== undefined;
  } catch {
    return false;
  }
}

function readClient(folder: string): SandboxClient {
  return JSON.parse(readFileSync(join(folder, 'sandbox-client.json'), 'utf8')) as SandboxClient;
}
