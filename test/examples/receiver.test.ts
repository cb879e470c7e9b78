import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { signatureHeader } from '../../clients/typescript/src/verify.js';
import { eventBody } from '../../src/delivery/event-catalogue.js';
import { freePort } from '../../src/platform/free-port.js';
import { newId } from '../../src/platform/ids.js';
import { startAuthApi } from '../support/auth-api.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeDelivered } from '../support/events.js';
import { makeEndpoint } from '../support/factories.js';

const root = join(import.meta.dirname, '../..');
let database: TestDatabase;
let folder: string;
let receiver: ChildProcess;
let url: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'receiver-'));
  const port = await freePort();
  url = `http://127.0.0.1:${port}/hook`;
  receiver = spawn(process.execPath, [join(root, 'examples/receiver/serve.js')], {
    cwd: folder,
    env: { PATH: process.env.PATH, DATABASE_URL: database.url.reveal(), PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(receiver.stdout!, 'data');
});
afterAll(async () => {
  receiver?.kill();
  await database?.drop();
  rmSync(folder, { recursive: true });
});

test('the shop passes the check that its workflow runs, and keeps nothing of it', async () => {
  const workflow = readFileSync(join(root, 'examples/receiver/ci.yml'), 'utf8');
  const [, args = ''] = /npx transfer-service-client (check .*)/.exec(workflow) ?? [];
  const given = args.replace('http://localhost:4100/hook', url).split(' ');
  const bin = join(root, 'clients/typescript/bin.js');
  const { status, stdout } = spawnSync(process.execPath, [bin, ...given], { cwd: folder, encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/the receiver has passed the check/) });
  expect(await database.query('select id from shop.inbox_events', [])).toEqual([]);
});

test('the shop ships the goods of a COMPLETED transfer once', async () => {
  const [transfer, secret] = [newId(), readFileSync(join(folder, 'webhook-secret'), 'utf8')];
  const body = eventBody({
    ...{ id: newId(), type: 'transfer.status_changed', createdAt: Date.now() },
    data: { id: transfer, status: 'COMPLETED' },
  });
  const headers = { 'service-signature': signatureHeader({ secret, t: new Date().toISOString(), body }) };
  const post = async () => (await fetch(url, { method: 'POST', headers, body })).status;
  expect(await Promise.all([post(), post(), post()])).toEqual([204, 204, 204]);
  const shipped = await database.query('select transfer_id::text as transfer from shop.shipments', []);
  expect(shipped).toEqual([{ transfer }]);
});

test('the proof of its workflow reads the feed of a day, and compares it with the signed statement', async () => {
  const auth = await startAuthApi();
  try {
    const { client_id: clientId, client_secret: clientSecret } = await auth.client();
    const { id: endpointId } = await makeEndpoint(auth.database, clientId);
    const at = Date.now() - 3_600_000;
    for (let i = 0; i < 3; i++)
      await makeDelivered(auth.database, { clientId, endpointId, at: at + i, status: 'succeeded' });
    const env = { BASE_URL: auth.baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret };
    const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'examples/receiver/prove.js')], {
      env: { PATH: process.env.PATH, DATABASE_URL: auth.database.url.reveal(), ...env },
    });
    expect(stdout).toMatch(/^proven: exactly the 3 events of the signed statement/);
  } finally {
    await auth.close();
  }
});
