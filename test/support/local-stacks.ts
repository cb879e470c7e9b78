import { afterEach } from '@jest/globals';
import pg from 'pg';
import type { ProcessRecord } from '../../src/local/child.js';
import { readState } from '../../src/local/stack-state.js';
import { makeLocalDir } from './local-dir.js';
import { type StackProcess, startStackProcess } from './stack-process.js';

const folders: ReturnType<typeof makeLocalDir>[] = [];
const started: StackProcess[] = [];

afterEach(async () => {
  await Promise.all(
    started
      .splice(0)
      .map((stack) => stack.process.exitCode === null && stack.process.signalCode === null && stack.stop()),
  );
  for (const folder of folders.splice(0)) await folder.remove();
});

export function localDir(name?: string): string {
  const folder = makeLocalDir(name);
  folders.push(folder);
  return folder.path;
}

export async function start(folder: string, env: Record<string, string> = {}): Promise<StackProcess> {
  const stack = await startStackProcess(folder, env);
  started.push(stack);
  return stack;
}

export async function query<Row>(stack: StackProcess, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: stack.env.DATABASE_URL });
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

export function parts(folder: string): ProcessRecord[] {
  const state = readState(folder);
  if (!state?.postgres || !state.temporal) throw new Error('stack.json names no processes');
  return [state.postgres, state.temporal];
}
