import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '../config.js';
import { lockHolder } from './lock.js';

/** `LOCAL_DIR/sandbox-client.json`, as far as the demo reads it. */
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
  /** False: it ran before, and goes on after. */
  startedHere: boolean;
}

/** Starts the service as `npm start` does, unless it runs already under LOCAL_DIR. */
export async function startService(stops: (() => Promise<void>)[]): Promise<DemoService> {
  const { LOCAL_DIR } = readEnvironment(process.env);
  if (isRunning(LOCAL_DIR)) return { client: readClient(LOCAL_DIR), startedHere: false };
  const service = spawn(process.execPath, [fileURLToPath(new URL('../main.js', import.meta.url))], {
    // Out of reach of Ctrl-C: the demo ends it, once.
    detached: true,
    env: { LOG_LEVEL: 'error', ...process.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stops.push(endWithUs(service));
  await firstLine(service, 'the service');
  return { client: readClient(LOCAL_DIR), startedHere: true };
}

/**
 * Ends `child` when this process ends, however that comes about, short of being killed.
 * @returns what ends it and waits for that
 */
export function endWithUs(child: ChildProcess): () => Promise<void> {
  process.once('exit', () => child.kill('SIGTERM'));
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
}

/** The first line that a child process prints. @throws Error where it ends before */
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
