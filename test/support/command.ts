import { Readable, Writable } from 'node:stream';
import { type RoleLoaders, runCli } from '../../src/cli/program.js';
import type { CliResult } from './cli.js';

const noRole = () => Promise.reject(new Error('a test starts a role with startCli'));
const roles: RoleLoaders = { start: noRole, api: noRole, worker: noRole };
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs an operator's command in this process, as the built command runs with the environment `env` only and without a
 * terminal: it costs a tenth of a process. Commands run one after the other. `runCli` starts the built command instead.
 */
export function runCommand(args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<CliResult> {
  const run = last.then(() => runHere(args, env, input));
  last = run.catch(() => {});
  return run;
}

/** Commands with one environment. */
export function commandsIn(env: Record<string, string>) {
  const run = (...args: string[]) => runCommand(args, env);
  return {
    run,
    /** Runs a command that must succeed. @returns its JSON document */
    async json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
      const { code, stdout, stderr } = await run(...args, '--json');
      // The crash run loads this file without Jest, and so without `expect`.
      if (code !== 0 || stderr !== '') throw new Error(`${args[0]} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
  };
}

async function runHere(args: readonly string[], env: Record<string, string>, input: string): Promise<CliResult> {
  const written = { stdout: '', stderr: '' };
  const collect = (name: keyof typeof written) =>
    new Writable({
      decodeStrings: false,
      write(chunk, _, done) {
        written[name] += chunk;
        done();
      },
    });
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const restore = replace(process, {
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...env },
    stdin: Readable.from([Buffer.from(input)]),
    stdout: collect('stdout'),
    stderr: collect('stderr'),
  });
  try {
    return { code: await runCli(args, roles), ...written };
  } finally {
    restore();
  }
}

/** Replaces properties of `target`. @returns a function that restores them */
function replace(target: object, values: Record<string, unknown>): () => void {
  const before = Object.fromEntries(
    Object.keys(values).map((name) => [name, Object.getOwnPropertyDescriptor(target, name) ?? {}]),
  );
  const set = (name: string, value: unknown) =>
    Object.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true });
  for (const [name, value] of Object.entries(values)) set(name, value);
  return () => Object.defineProperties(target, before);
}
