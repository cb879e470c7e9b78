import { readFileSync } from 'node:fs';
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
