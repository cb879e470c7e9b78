import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Starts the built command with the environment `env` only, like an operator's shell. */
export function startCli(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const { PATH, HOME, CACHE_DIR, NODE_COMPILE_CACHE } = process.env;
  return spawn(process.execPath, ['dist/src/cli.js', ...args], {
    env: { PATH, HOME, CACHE_DIR, NODE_COMPILE_CACHE, ...env },
    // A command that hangs must not keep the test run from ending.
    timeout: 600_000,
    killSignal: 'SIGKILL',
  });
}

export async function runCli(
  args: readonly string[],
  env: Record<string, string> = {},
  input = '',
): Promise<CliResult> {
  const child = startCli(args, env);
  child.stdin?.end(input);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout as NonNullable<typeof child.stdout>),
    text(child.stderr as NonNullable<typeof child.stderr>),
    once(child, 'close'),
  ]);
  return { code: child.exitCode, stdout, stderr };
}
