import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { startCli } from '../support/cli.js';

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
