import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { freePort } from '../../src/platform/free-port.js';
import { startCli } from '../support/cli.js';
import { waitFor } from '../support/wait-for.js';

// Postgres and Temporal are unreachable: a process still serves, and /readyz reports the missing dependencies.
const UNREACHABLE = {
  ENVIRONMENT: 'sandbox',
  DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  MASTER_KEY: Buffer.alloc(32, 'k').toString('base64'),
  BASE_URL: 'https://api.test',
  HOST: '127.0.0.1',
  PORT: '0',
  LOG_LEVEL: 'silent',
  SHUTDOWN_DELAY: '0s',
};

let process: ChildProcess;
/** The whole standard error of the process, after it has ended. */
let stderr: Promise<string>;
afterEach(async () => {
  process.kill('SIGTERM');
  if (process.exitCode === null) await once(process, 'exit');
});

async function firstLine(args: string[], env: Record<string, string> = {}): Promise<string> {
  process = startCli(args, { ...UNREACHABLE, ...env });
  stderr = text(process.stderr as NonNullable<typeof process.stderr>);
  const [line] = await once(createInterface({ input: process.stdout as NonNullable<typeof process.stdout> }), 'line');
  return line;
}

describe('a role announces when it is ready', () => {
  test('the API prints its own address if BASE_URL is empty and the port is 0', async () => {
    const line = await firstLine(['api'], { BASE_URL: '' });
    expect(line).toMatch(/^ready http:\/\/localhost:[1-9]\d+$/);
    const url = line.slice('ready '.length);
    const metadata = await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).toMatchObject({ issuer: url });
  });

  test('the API serves on if nobody reads that line', async () => {
    const port = await freePort();
    process = startCli(['api'], { ...UNREACHABLE, PORT: String(port) });
    process.stdout?.destroy();
    stderr = text(process.stderr as NonNullable<typeof process.stderr>);
    await waitFor('the API', () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    process.kill('SIGTERM');
    await once(process, 'exit');
    expect([process.exitCode, await stderr]).toEqual([0, '']);
  });
});

test('an uncaught error ends the process with one log line that shows no field of the error', async () => {
  const fault = 'process.once("SIGUSR2",()=>{throw Object.assign(new Error("unexpected"),{parameters:"hu"+"sh"})})';
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(fault)}`;
  expect(await firstLine(['api', '--json'], { LOG_LEVEL: 'error', NODE_OPTIONS })).toBe('{"ready":"https://api.test"}');
  process.kill('SIGUSR2');
  const [code] = await once(process, 'exit');
  expect(code).toBe(1);
  const line = (await stderr).trim();
  expect(JSON.parse(line)).toMatchObject({ level: 60, role: 'api', err: { message: 'unexpected' } });
  expect(line).not.toContain('hush');
});
