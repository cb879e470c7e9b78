import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { TransferServiceClient } from '../../../clients/typescript/src/client.js';
import { freePort } from '../../../src/platform/free-port.js';
import { startApi } from '../../support/api.js';
import { testFetched } from '../../support/fetched-program.js';
import { endpointRequest, transferRequest } from '../../support/transfers.js';
import { waitFor } from '../../support/wait-for.js';

// Integrators test against a mock of the document: its examples must lead a client to an end.

const PRISM = {
  fetch:
    'test -d "$CACHE/prism/node_modules/@stoplight/prism-cli" || npm install --silent --prefix "$CACHE/prism" @stoplight/prism-cli@5.16.0',
  run: '',
};
const program = join(homedir(), '.cache/transfer-service/tools/prism/node_modules/@stoplight/prism-cli/dist/index.js');

testFetched('Prism', PRISM)(
  'a client works through a mock of the document',
  async () => {
    const api = await startApi();
    const folder = mkdtempSync(join(tmpdir(), 'mock-'));
    writeFileSync(join(folder, 'openapi.json'), (await api.call('GET', '/openapi.json')).text);
    await api.close();
    const port = await freePort();
    const args = [program, 'mock', '--port', String(port), join(folder, 'openapi.json')];
    const mock = spawn(process.execPath, args, { stdio: 'ignore' });
    const baseUrl = `http://127.0.0.1:${port}`;
    try {
      await waitFor(
        'the mock',
        () =>
          fetch(`${baseUrl}/healthz`).then(
            ({ ok }) => ok,
            () => false,
          ),
        60_000,
      );
      const client = new TransferServiceClient({ baseUrl, clientId: 'c', clientSecret: 'a-secret-of-the-mock' });
      const endpoint = await client.webhookEndpoints.register(endpointRequest());
      expect(endpoint).toMatchObject({ enabled: true, disabled_reason: null });
      const transfer = await client.transfers.create(transferRequest());
      expect(transfer).toMatchObject({ status: 'CREATED', reason_code: null });
      const listed = [];
      for await (const one of client.transfers.list()) listed.push(one.status);
      expect(listed).toEqual(['CREATED']);
      expect(await client.transfers.cancel(transfer.id)).toMatchObject({ status: 'CANCELLED' });
      const ready = await fetch(`${baseUrl}/readyz`);
      expect(await ready.json()).toMatchObject({ status: 'ready', checks: { postgres: 'ok' } });
    } finally {
      mock.kill();
      rmSync(folder, { recursive: true });
    }
  },
  300_000,
);
