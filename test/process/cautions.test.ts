import { randomBytes } from 'node:crypto';
import { expect, it, test } from '@jest/globals';
import { loadConfig } from '../../src/platform/config/config.js';
import { cautionsOf, isSupportedNode } from '../../src/process/cautions.js';

const SAFE = {
  ENVIRONMENT: 'production',
  DATABASE_URL: 'postgresql://app:hunter2@db.internal/app?sslmode=verify-full',
  TEMPORAL_ADDRESS: 'temporal.internal:7233',
  TEMPORAL_TLS: 'true',
  ALLOWED_NETWORKS: '203.0.113.0/24',
  BASE_URL: 'https://api.example.com',
  TRUSTED_PROXIES: '10.244.0.0/16',
  MASTER_KEY: randomBytes(32).toString('base64'),
};
const named = (env: Record<string, string>) =>
  cautionsOf(loadConfig({ ...SAFE, ...env })).map((line) => line.split(':')[0]);

it.each<[string, Record<string, string>, string[]]>([
  ['nothing when every connection is encrypted', {}, []],
  ['a remote Postgres in plaintext', { DATABASE_URL: 'postgresql://app:hunter2@db.internal/app' }, ['DATABASE_URL']],
  [
    'a remote Postgres in plaintext past the pooler',
    { DATABASE_DIRECT_URL: 'postgresql://app:hunter2@db.internal/app' },
    ['DATABASE_DIRECT_URL'],
  ],
  [
    'a remote Postgres with sslmode=disable',
    { DATABASE_URL: 'postgresql://app@db.internal/app?sslmode=disable' },
    ['DATABASE_URL'],
  ],
  [
    'a remote Postgres whose certificate is not verified',
    { DATABASE_URL: 'postgresql://app@db.internal/app?sslmode=no-verify' },
    ['DATABASE_URL'],
  ],
  [
    'a mode of libpq that does not verify the name in the certificate',
    { DATABASE_URL: 'postgresql://app@db.internal/app?sslmode=verify-ca&uselibpqcompat=true' },
    ['DATABASE_URL'],
  ],
  [
    'nothing for sslmode=require, which pg takes for verify-full',
    { DATABASE_URL: 'postgresql://app@db.internal/app?sslmode=require' },
    [],
  ],
  [
    'nothing for plaintext over loopback',
    { DATABASE_URL: 'postgresql://app@127.0.0.1/app', TEMPORAL_TLS: 'false', TEMPORAL_ADDRESS: '[::1]:7233' },
    [],
  ],
  ['nothing for a Unix socket', { DATABASE_URL: 'postgresql://app@socket/app?host=/var/run/postgresql' }, []],
  ['a remote Temporal in plaintext', { TEMPORAL_TLS: 'false' }, ['TEMPORAL_TLS']],
  ['an empty ALLOWED_NETWORKS', { ALLOWED_NETWORKS: '' }, ['ALLOWED_NETWORKS']],
  ['proxies at any address', { TRUSTED_PROXIES: '10.0.0.0/8,0.0.0.0/0' }, ['TRUSTED_PROXIES']],
  ['proxies at half of all addresses', { TRUSTED_PROXIES: '128.0.0.0/1' }, ['TRUSTED_PROXIES']],
  [
    'proxies at any address, in a sandbox too',
    { ENVIRONMENT: 'sandbox', TRUSTED_PROXIES: '::/0' },
    ['TRUSTED_PROXIES'],
  ],
  ['a sandbox behind a proxy that is not named', { ENVIRONMENT: 'sandbox', TRUSTED_PROXIES: '' }, ['TRUSTED_PROXIES']],
  [
    'nothing for a sandbox without a proxy',
    { ENVIRONMENT: 'sandbox', TRUSTED_PROXIES: '', BASE_URL: 'http://localhost:3000' },
    [],
  ],
  ['nothing if there is no proxy', { TRUSTED_PROXIES: 'none' }, []],
  ['nothing for proxies in a private network', { TRUSTED_PROXIES: '10.0.0.0/8,fd00::/8' }, []],
  ['nothing when it is a sandbox', { ENVIRONMENT: 'sandbox', ALLOWED_NETWORKS: '', TEMPORAL_TLS: 'false' }, []],
])('warns of %s', (_, env, expected) => {
  expect(named(env)).toEqual(expected);
});

test.each([
  ['20.20.2', false],
  ['22.18.0', false],
  ['22.19.0', true],
  ['23.11.0', false],
  ['24.0.0', true],
  ['24.21.0', true],
  ['26.0.0', false],
])('compares Node.js %s with the ranges of package.json: supported is %s', (version, supported) => {
  expect(isSupportedNode(version, '^22.19 || ^24')).toBe(supported);
});

test('supports the release of Node.js that runs the tests', () => {
  expect(isSupportedNode(process.versions.node)).toBe(true);
});
