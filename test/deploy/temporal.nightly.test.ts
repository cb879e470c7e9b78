import { expect, test } from '@jest/globals';
import { type Document, readYaml } from '../support/manifests.js';

// Temporal as docker-compose.yml runs it. `npm run test:production` tests its server with these settings.

const [{ services }] = readYaml('docker-compose.yml');

test('the UI is read-only, and services without a login are reachable from this machine only', () => {
  expect(services['temporal-ui'].environment.TEMPORAL_DISABLE_WRITE_ACTIONS).toBe('true');
  const open = Object.entries<Document>(services).filter(([, { ports = [] }]) =>
    ports.some((port: string) => !port.startsWith('127.0.0.1:')),
  );
  expect(open.map(([name]) => name)).toEqual(['proxy']);
});
