import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Where the tools of other languages stay between runs. */
const cache = join(homedir(), '.cache/transfer-service/tools');

/** Shell commands: `fetch` gets what the program needs into `$CACHE`, once per machine; `run` runs it in `$PWD`. */
export interface FetchedProgram {
  fetch: string;
  run: string;
}

/** `test` if the program can be fetched; otherwise a skipped test, and a line that says why. */
export function testFetched(name: string, { fetch }: FetchedProgram) {
  mkdirSync(cache, { recursive: true });
  const { status, stdout, stderr } = spawnSync('nice', ['sh', '-c', fetch], {
    ...{ env: { ...process.env, NODE_OPTIONS: '', CACHE: cache }, encoding: 'utf8', timeout: 300_000 },
  });
  if (status === 0) return test;
  process.stderr.write(`skipped: ${name} cannot be fetched: ${`${stderr}${stdout}`.trim().split('\n').at(-1)}\n`);
  return test.skip;
}

/** Runs the program in a new folder. @returns its output */
export async function runFetched({ run }: FetchedProgram, cwd: string, env: Record<string, string>): Promise<string> {
  mkdirSync(cwd);
  const { stdout } = await promisify(execFile)('nice', ['sh', '-c', run], {
    ...{ cwd, maxBuffer: 2 ** 26 },
    env: { ...process.env, NODE_OPTIONS: '', CACHE: cache, ...env },
  });
  return stdout.trim();
}
