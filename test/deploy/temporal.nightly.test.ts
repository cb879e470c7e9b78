import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { type Document, readYaml } from '../support/manifests.js';

// Temporal as docker-compose.yml runs it. `npm run test:production` tests its server with these settings.

const [{ services }] = readYaml('docker-compose.yml');
/** Name and release of an image, with the default of `${TEMPORAL_VERSION:-…}` and without a digest. */
const imageOf = (name: string): string[] =>
  services[name].image
    .replace(/\$\{TEMPORAL_VERSION:-(.*)\}/, '$1')
    .replace(/@.*/, '')
    .split(':');
const readConstant = (path: string, pattern: RegExp): string => pattern.exec(readFileSync(path, 'utf8'))?.[1] ?? '';

test('the server is temporalio/server, and its schema and command line come from admin-tools of the same release', () => {
  const [image, release] = imageOf('temporal');
  expect(image).toBe('temporalio/server');
  expect(imageOf('temporal-schema')).toEqual(['temporalio/admin-tools', release]);
  expect(imageOf('temporal-admin')).toEqual(['temporalio/admin-tools', release]);
  const tested = readConstant('scripts/temporal-on-postgres/programs.mjs', /SERVER_VERSION = '([\d.]+)'/);
  const minor = (version = '') => version.split('.').slice(0, 2);
  expect(minor(tested)).toEqual(minor(release));
});

test('the tests on Postgres run the server with the same dynamic configuration', async () => {
  const script: string = '../../scripts/temporal-on-postgres/configuration.mjs';
  const { dynamicConfiguration } = await import(script);
  const [dynamic] = readYaml('deploy/temporal.yaml');
  expect(JSON.parse(dynamicConfiguration({ more: 1 }))).toEqual({ ...dynamic, more: 1 });
});

test('the UI is read-only, and services without a login are reachable from this machine only', () => {
  expect(services['temporal-ui'].environment.TEMPORAL_DISABLE_WRITE_ACTIONS).toBe('true');
  const open = Object.entries<Document>(services).filter(([, { ports = [] }]) =>
    ports.some((port: string) => !port.startsWith('127.0.0.1:')),
  );
  expect(open.map(([name]) => name)).toEqual(['proxy']);
});

test('the schema script creates, initialises and upgrades both stores, and stops at the first failure', () => {
  const folder = mkdtempSync(join(tmpdir(), 'temporal-schema-'));
  try {
    const tool = join(folder, 'temporal-sql-tool');
    const run = (script: string) => {
      writeFileSync(tool, `#!/bin/sh\necho "$*"\n${script}\n`);
      chmodSync(tool, 0o755);
      const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
      return execFileSync('sh', ['deploy/temporal-schema.sh'], { env, encoding: 'utf8' }).trim().split('\n');
    };
    const schema = '/etc/temporal/schema/postgresql/v12';
    expect(run('')).toEqual([
      '--db temporal create',
      '--db temporal setup-schema --version 0.0',
      `--db temporal update-schema --schema-dir ${schema}/temporal/versioned`,
      '--db temporal_visibility create',
      '--db temporal_visibility setup-schema --version 0.0',
      `--db temporal_visibility update-schema --schema-dir ${schema}/visibility/versioned`,
    ]);
    process.env.CREATE_DATABASES = 'false';
    expect(run('').filter((line) => line.endsWith('create'))).toEqual([]);
    delete process.env.CREATE_DATABASES;
    expect(() => run('[ "$3" != setup-schema ]')).toThrow(
      expect.objectContaining({ stdout: expect.stringMatching(/^.*create\n.*setup-schema --version 0\.0\n$/) }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
