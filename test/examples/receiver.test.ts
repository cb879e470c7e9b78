import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { signatureHeader } from '../../clients/typescript/src/verify.js';
import { eventBody } from '../../src/delivery/event-catalogue.js';
import { freePort } from '../../src/platform/free-port.js';
import { newId } from '../../src/platform/ids.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

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
