import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { startCli } from '../support/cli.js';
import { runCommand } from '../support/command.js';

// The names do not resolve: the warnings depend on the configuration alone.
const UNSAFE = {
  ENVIRONMENT: 'production',
  DATABASE_URL: 'postgresql://app:hunter2@db.invalid/app',
  TEMPORAL_ADDRESS: 'temporal.invalid:7233',
  ALLOWED_NETWORKS: '',
  BASE_URL: 'https://api.example.com',
  TRUSTED_PROXIES: 'none',
  MASTER_KEY: randomBytes(32).toString('base64'),
  HOST: '127.0.0.1',
  PORT: '0',
  LOG_LEVEL: 'warn',
  SHUTDOWN_DELAY: '0s',
};
const WARNED = ['DATABASE_URL', 'TEMPORAL_TLS', 'ALLOWED_NETWORKS'];

test('production logs each warning about its settings and its Node.js at startup, without the password', async () => {
  const node20 = 'Object.defineProperty(process.versions, "node", { value: "20.20.2" })';
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(node20)}`;
  const api = startCli(['api'], { ...UNSAFE, NODE_OPTIONS });
  const said = text(api.stderr as NonNullable<typeof api.stderr>);
  await once(createInterface({ input: api.stdout as NonNullable<typeof api.stdout> }), 'line');
  api.kill('SIGTERM');
  const lines = (await said).trim().split('\n');
  const warnings = lines.map((line) => JSON.parse(line)).filter(({ msg }) => WARNED.includes(msg.split(':')[0]));
  expect(warnings.map(({ level, msg }) => [level, msg.split(':')[0]])).toEqual(WARNED.map((name) => [40, name]));
  expect(lines.join('\n')).toMatch(/"msg":"Node\.js 20\.20\.2 is not supported \([^)]+\)/);
  expect(lines.join()).not.toContain('hunter2');
});

test('doctor shows each warning and does not count it as a failure', async () => {
  const { stdout } = await runCommand(['doctor'], UNSAFE);
  for (const name of WARNED) expect(stdout).toMatch(new RegExp(`^warning\\tsecurity\\t${name}: `, 'm'));
  const { stdout: json } = await runCommand(['doctor', '--json'], UNSAFE);
  const { checks } = JSON.parse(json) as {
    checks: { check: string; ok: boolean; warning?: boolean; detail: string }[];
  };
  const shown = checks.filter(({ check }) => check === 'security');
  expect(shown.map(({ ok, warning, detail }) => [ok, warning, detail.split(':')[0]])).toEqual(
    WARNED.map((name) => [true, true, name]),
  );
  expect(stdout + json).not.toContain('hunter2');
});

test('production warns at startup about an over-privileged role and about unknown settings', async () => {
  const api = startCli(['api'], {
    ...UNSAFE,
    // The superuser of the tests.
    DATABASE_URL: process.env.TEST_DATABASE_URL ?? '',
    RATE_LIMITS: 'hunter2',
  });
  const warned: string[] = [];
  for await (const line of createInterface({ input: api.stderr as NonNullable<typeof api.stderr> })) {
    const { msg } = JSON.parse(line) as { msg: string };
    if (/^the role \S+ is a superuser\b|^RATE_LIMITS:/.test(msg)) warned.push(msg);
    if (warned.length > 1) break;
  }
  api.kill('SIGTERM');
  expect(warned).toEqual(
    expect.arrayContaining([
      'RATE_LIMITS: is not a setting and has no effect; remove it or correct its name',
      expect.stringMatching(/^the role .*DATABASE_RUNTIME_ROLE\)$/),
    ]),
  );
});
