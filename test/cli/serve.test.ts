import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from '@jest/globals';
import { startCli } from '../support/cli.js';

// Postgres and Temporal are away: a process serves all the same, and says in /readyz what is missing.
const AWAY = {
  ENVIRONMENT: 'sandbox',
  DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  MASTER_KEY: Buffer.alloc(32, 'k').toString('base64'),
  BASE_URL: 'https://api.test',
  HOST: '127.0.0.1',
  PORT: '0',
  LOG_LEVEL: 'silent',
};

let process: ChildProcess;
afterEach(async () => {
  process.kill('SIGTERM');
  if (process.exitCode === null) await once(process, 'exit');
}, 60_000);

async function firstLine(args: string[], env: Record<string, string> = {}): Promise<string> {
  process = startCli(args, { ...AWAY, ...env });
  process.stderr?.resume();
  const [line] = await once(createInterface({ input: process.stdout as NonNullable<typeof process.stdout> }), 'line');
  return line;
}

describe('a role says when it serves', () => {
  test('the API by a line, or by one JSON document with --json', async () => {
    expect(await firstLine(['api', '--json'])).toBe('{"ready":"https://api.test"}');
  });

  test('the API as scripts wait for it', async () => {
    expect(await firstLine(['api'])).toBe('ready https://api.test');
  });

  test('a worker without a port', async () => {
    expect(await firstLine(['worker', '--json'])).toBe('{"ready":null}');
  });

  test('a worker with METRICS_PORT, where it lives, and is not ready without Postgres and Temporal', async () => {
    const line = await firstLine(['worker'], { METRICS_PORT: '0' });
    expect(line).toMatch(/^ready http:\/\/localhost:\d+$/);
    const url = line.slice('ready '.length).replace('localhost', '127.0.0.1');
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const reply = await fetch(`${url}/readyz`);
    expect([reply.status, await reply.json()]).toEqual([
      503,
      expect.objectContaining({ checks: { postgres: 'unreachable', migrations: 'unknown', temporal: 'unreachable' } }),
    ]);
  });
});
