import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { checkCredentials, readClientRecord } from '../../src/auth/client-record.js';
import { pendingMigrations } from '../../src/platform/database/migrate.js';
import { newId } from '../../src/platform/ids.js';
import { Secret } from '../../src/platform/secret.js';
import { commandsIn, runCommand } from '../support/command.js';
import { openTestDatabase } from '../support/database.js';
import { MASTER_KEY, makeClient, makeEndpoint, makeTransfer } from '../support/factories.js';
import { openFolder } from '../support/folder.js';

const database = await openTestDatabase();
const env = { DATABASE_URL: database.url.reveal(), MASTER_KEY };
const { run, json } = commandsIn(env);
const folder = openFolder();

interface ClientResult {
  client_id: string;
  client_secret: string;
  secret_id: string;
}

const works = async ({ client_id }: ClientResult, { client_secret }: ClientResult) =>
  Boolean(
    await checkCredentials((id) => readClientRecord(database, id), client_id, new Secret(client_secret), Date.now()),
  );

describe('clients', () => {
  const make = (...options: string[]) => json<ClientResult>('clients', 'create', '--name', 'Acme', ...options);

  test('create prints valid credentials; list and show never print a secret', async () => {
    const created = await make('--allow', '10.0.0.0/8', '--allow', '::1/128', '--scope', 'transfers:read');
    const fields = { networks: ['10.0.0.0/8', '::1/128'], scopes: ['transfers:read'], revoked_at: null };
    expect([created, await works(created, created)]).toMatchObject([fields, true]);
    const shown = await json('clients', 'show', created.client_id);
    expect(shown).toMatchObject({ ...fields, secrets: [{ secret_id: created.secret_id, revoked_at: null }] });
    const seen = JSON.stringify([shown, await json('clients', 'list')]);
    expect([seen.includes(created.client_id), seen.includes(created.client_secret)]).toEqual([true, false]);
  });

  test('rotate-secret keeps the old secret unless --revoke ends it, and revoke-secret ends one', async () => {
    const first = await make();
    const second = await json<ClientResult>('clients', 'rotate-secret', first.client_id);
    expect([await works(first, first), await works(first, second)]).toEqual([true, true]);
    const rotate = ['clients', 'rotate-secret', first.client_id, '--expire-old', '0s'];
    expect(await run(...rotate)).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(new RegExp(`^[^\\n]*${first.secret_id}[^\\n]*${second.secret_id}[^\\n]*--revoke`)),
    });
    const third = await json<ClientResult>(...rotate, '--revoke', second.secret_id);
    const valid = await Promise.all([first, second, third].map((one) => works(first, one)));
    expect([third, valid]).toMatchObject([{ revoked: [second.secret_id] }, [false, false, true]]);
    await json('clients', 'revoke-secret', first.client_id, third.secret_id);
    expect(await works(first, third)).toBe(false);
  });

  test('allow replaces the networks, set-limits sets what is given, and revoke revokes', async () => {
    const created = await make('--allow', '10.0.0.0/8');
    const id = created.client_id;
    expect(await json('clients', 'allow', id, '192.0.2.0/24')).toMatchObject({ networks: ['192.0.2.0/24'] });
    expect(await json('clients', 'allow', id)).toMatchObject({ networks: [] });
    const limits = ['clients', 'set-limits', id];
    const both = await json(...limits, '--rate', '5', '--endpoints', '0');
    expect(both).toMatchObject({ rate_limit: 5, max_endpoints: 0 });
    const one = await json(...limits, '--rate', 'default');
    expect(one).toMatchObject({ rate_limit: null, max_endpoints: 0 });
    expect(await run(...limits)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/give --rate or --endpoints/),
    });
    expect((await json('clients', 'revoke', id, '--yes')).revoked_at).not.toBeNull();
    expect(await works(created, created)).toBe(false);
  });

  test('set-keys replaces the keys, and may require them instead of the secrets', async () => {
    const created = await make();
    const file = join(folder, 'keys.json');
    const set = ['clients', 'set-keys', created.client_id, file];
    const key = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
    writeFileSync(file, JSON.stringify({ keys: [{ ...key, d: 'x' }] }));
    expect(await run(...set)).toMatchObject({ code: 1, stderr: expect.stringContaining('/keys/0/d') });
    writeFileSync(file, JSON.stringify({ keys: [key] }));
    expect(await json(...set, '--require-private-key')).toMatchObject({ require_private_key: true, keys: [{}] });
    expect(await works(created, created)).toBe(false);
    expect(await json(...set, '--no-require-private-key')).toMatchObject({ require_private_key: false });
  });

  test('erase prints how many rows it changed', async () => {
    const id = await makeClient(database);
    await makeTransfer(database, id, 'COMPLETED');
    await database.prisma.client.update({ where: { id }, data: { revokedAt: new Date(Date.now() - 60_000) } });
    expect(await json('clients', 'erase', id, '--yes')).toEqual({ client_id: id, transfers: 1, endpoints: 0 });
    expect(await json('clients', 'show', id)).toMatchObject({ name: 'erased', erased_at: expect.any(String) });
  });
});

describe('transfers', () => {
  test('set-status changes the status and queues the event, or exits with 1 or 2 and says what is valid', async () => {
    const { id, clientId } = await makeTransfer(database, await makeClient(database));
    const set = ['transfers', 'set-status', id];
    const wrong = [
      [['PROCESSING', '--reason-code', 'other'], 2, /^error: --reason-code may be given only/],
      [['FAILED', '--reason-code', 'bad_mood'], 2, /name_mismatch/],
      [['COMPLETED'], 1, /^The transfer is CREATED [^\n]*PROCESSING[^\n]*\n$/],
    ] as const;
    for (const [args, code, says] of wrong) {
      expect(await run(...set, ...args)).toEqual({ code, stdout: '', stderr: expect.stringMatching(says) });
    }
    expect(await json(...set, 'FAILED', '--reason-code', 'name_mismatch', '--reason', 'no')).toMatchObject({
      ...{ id, client_id: clientId, status: 'FAILED', reason_code: 'name_mismatch' },
    });
    expect(await database.prisma.event.findMany({ where: { transferId: id } })).toMatchObject([{ clientId }]);
  });

  test('list has the work list of a payment rail, oldest first, and show the history', async () => {
    const client = await makeClient(database);
    const [first, second] = [await makeTransfer(database, client), await makeTransfer(database, client)];
    const list = ['transfers', 'list', '--client', client];
    const fields = { client_id: client, status: 'CREATED' };
    expect(await json(...list, '--status', 'CREATED', '--oldest')).toMatchObject([
      { id: first.id, ...fields },
      { id: second.id, ...fields },
    ]);
    const page = await run(...list, '--limit', '1');
    expect([page.stdout, page.stderr]).toEqual([
      expect.stringContaining(second.id),
      expect.stringContaining(`--cursor ${second.id}`),
    ]);
    const { stdout } = await run('transfers', 'show', first.id);
    expect(stdout).toMatch(/^amount +\{"value":\d+,"currency":"[A-Z]{3}"\}$/m);
    expect(await run('transfers', 'show', newId())).toMatchObject({ code: 1 });
  });
});

test.each([
  ['transfers', 'TRANSFER_RETENTION'],
  ['audit', 'AUDIT_RETENTION'],
])('%s expire needs %s and prints how many rows it removed', async (group, setting) => {
  const unset = await run(group, 'expire');
  expect(unset).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`^${setting}: is not set[^\n]*\n$`)),
  });
  expect(await commandsIn({ ...env, [setting]: '3650d' }).json(group, 'expire')).toEqual({ removed: 0 });
});

describe('keys', () => {
  test('list prints ids, states and times, and no key material', async () => {
    const rotate = async () => (await json<{ kid: string }>('keys', 'rotate')).kid;
    const [old, kid] = [await rotate(), await rotate()];
    const expired = new Date(Date.now() - 2 * 3_600_000);
    await database.prisma.signingKey.create({
      data: { kid: 'older', publicJwk: {}, privateKeyEnvelope: 'sealed', createdAt: expired, retiredAt: expired },
    });
    const any = expect.any(String);
    const times = { created_at: any, retired_at: any, verifies_until: any };
    expect(await json('keys', 'list')).toEqual([
      { kid, state: 'signing', created_at: any, retired_at: null, verifies_until: null },
      { kid: old, state: 'verifying', ...times },
      { kid: 'older', state: 'expired', ...times },
    ]);
    await database.prisma.signingKey.deleteMany();
  });

  test('rotate-master re-encrypts every secret, or names the first rows that it cannot decrypt', async () => {
    await json('keys', 'rotate');
    const next = Buffer.alloc(32, 'n').toString('base64');
    const rotate = { ...env, MASTER_KEY: next, MASTER_KEY_PREVIOUS: MASTER_KEY };
    expect(await commandsIn(rotate).json('keys', 'rotate-master')).toMatchObject({ signing_keys: 1 });
    expect(await commandsIn(rotate).json('keys', 'rotate-master')).toMatchObject({ signing_keys: 0 });
    const clientId = await makeClient(database);
    const ids: string[] = [];
    for (let made = 0; made < 4; made++) ids.push((await makeEndpoint(database, clientId)).id);
    const lost = { ...env, MASTER_KEY: next, MASTER_KEY_PREVIOUS: '' };
    const named = ids.slice(0, 3).map((id) => `webhook_endpoints ${id}`);
    expect(await commandsIn(lost).run('keys', 'rotate-master')).toMatchObject({
      code: 1,
      stderr: `neither MASTER_KEY nor MASTER_KEY_PREVIOUS decrypts 4 rows, of which the first are: ${named.join(', ')}\n`,
    });
    await database.prisma.endpoint.deleteMany({ where: { clientId } });
  });
});

test.each([
  ['endpoints', 'disable'],
  ['clients', 'revoke'],
  ['clients', 'erase'],
])('%s %s needs --yes without a terminal', async (group, verb) => {
  const { id, clientId } = await makeEndpoint(database, await makeClient(database));
  for (const input of ['', 'yes\n']) {
    const result = await runCommand([group, verb, group === 'clients' ? clientId : id], env, input);
    expect(result).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/^error: .*--yes.*\n$/) });
  }
  const client = await database.prisma.client.findUniqueOrThrow({
    where: { id: clientId },
    include: { endpoints: true },
  });
  expect(client).toMatchObject({ revokedAt: null, erasedAt: null, endpoints: [{ enabled: true }] });
});

test('migrate applies pending migrations and can be run again', async () => {
  await database.pool.query('drop schema public cascade; create schema public');
  const temporal = { TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS ?? '', TEMPORAL_NAMESPACE: 'default' };
  const migrate = () => commandsIn({ ...env, ...temporal }).json<{ applied: string[] }>('migrate');
  expect((await migrate()).applied.length).toBeGreaterThan(0);
  expect(await pendingMigrations(database)).toEqual([]);
  expect(await migrate()).toEqual({ applied: [], temporal: [] });
});
