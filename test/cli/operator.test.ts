import { describe, expect, test } from '@jest/globals';
import { checkCredentials, readClientRecord } from '../../src/auth/client-record.js';
import { COUNTED_TO_CANCEL } from '../../src/endpoints/disable.js';
import { EndpointHours } from '../../src/endpoints/hours.js';
import { pendingMigrations } from '../../src/platform/database/migrate.js';
import { newId } from '../../src/platform/ids.js';
import { Secret } from '../../src/platform/secret.js';
import { makeBacklog } from '../support/backlog.js';
import { runCommand } from '../support/command.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint, makeTransfer, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { answerOnTerminal, onLinux } from '../support/terminal.js';

const database = await openTestDatabase();
let env: Record<string, string> = {
  DATABASE_URL: database.url.reveal(),
  MASTER_KEY: Buffer.alloc(32, 'k').toString('base64'),
};

/** Runs a command that must succeed and returns its JSON document. */
async function json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCommand([...args, '--json'], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

interface ClientResult {
  client_id: string;
  client_secret: string;
  secret_id: string;
  scopes: string[];
  networks: string[];
}

function works(clientId: string, secret: string): Promise<boolean> {
  return checkCredentials((id) => readClientRecord(database, id), clientId, new Secret(secret), Date.now()).then(
    Boolean,
  );
}

describe('clients', () => {
  const make = (...options: string[]) => json<ClientResult>('clients', 'create', '--name', 'Acme', ...options);

  test('create prints valid credentials; list and show never print a secret', async () => {
    const created = await make('--allow', '10.0.0.0/8', '--allow', '::1/128', '--scope', 'transfers:read');
    const networks = ['10.0.0.0/8', '::1/128'];
    expect(created).toMatchObject({ name: 'Acme', scopes: ['transfers:read'], networks, revoked_at: null });
    expect(await works(created.client_id, created.client_secret)).toBe(true);
    const list = await json<ClientResult[]>('clients', 'list');
    expect(list.map((client) => client.client_id)).toContain(created.client_id);
    const shown = await json('clients', 'show', created.client_id);
    expect(shown.secrets).toMatchObject([{ secret_id: created.secret_id, revoked_at: null }]);
    expect(JSON.stringify([list, shown])).not.toContain(created.client_secret);
  });

  test('rotate-secret keeps the old secret unless --expire-old or --revoke ends it, and revoke-secret ends one', async () => {
    const first = await make();
    const id = first.client_id;
    const valid = (...all: ClientResult[]) => Promise.all(all.map((one) => works(id, one.client_secret)));
    const second = await json<ClientResult>('clients', 'rotate-secret', id);
    expect(await valid(first, second)).toEqual([true, true]);
    const rotate = ['clients', 'rotate-secret', id, '--expire-old', '0s'];
    const { code, stdout, stderr } = await runCommand(rotate, env);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^[^\\n]*${first.secret_id}[^\\n]*${second.secret_id}[^\\n]*--revoke[^\\n]*\\n$`),
    );
    const third = await json<ClientResult>(...rotate, '--revoke', second.secret_id);
    expect(third).toMatchObject({ revoked: [second.secret_id] });
    expect(await valid(first, second, third)).toEqual([false, false, true]);
    await json('clients', 'revoke-secret', id, third.secret_id);
    expect(await valid(third)).toEqual([false]);
  });

  test('allow replaces the networks, and without networks allows any; revoke revokes the client', async () => {
    const { client_id, client_secret } = await make('--allow', '10.0.0.0/8');
    expect(await json('clients', 'allow', client_id, '192.0.2.0/24')).toMatchObject({ networks: ['192.0.2.0/24'] });
    expect(await json('clients', 'allow', client_id)).toMatchObject({ networks: [] });
    expect((await json('clients', 'revoke', client_id, '--yes')).revoked_at).not.toBeNull();
    expect(await works(client_id, client_secret)).toBe(false);
  });
});

describe('transfers set-status', () => {
  async function createTransfer(): Promise<{ id: string; clientId: string }> {
    const { client_id: clientId } = await json<ClientResult>('clients', 'create', '--name', 'Sender');
    const { id } = await makeTransfer(database, clientId);
    return { id, clientId };
  }

  test('changes the status with its reason and queues the event', async () => {
    const { id, clientId } = await createTransfer();
    expect(await json('transfers', 'set-status', id, 'PROCESSING', '--reason', 'picked up')).toMatchObject({
      id,
      client_id: clientId,
      status: 'PROCESSING',
    });
    expect(await database.prisma.event.findMany({ where: { transferId: id } })).toMatchObject([
      { type: 'transfer.status_changed', clientId },
    ]);
  });

  test('records a reason code, and exits with 2 if the status takes none', async () => {
    const { id } = await createTransfer();
    const early = await runCommand(['transfers', 'set-status', id, 'PROCESSING', '--reason-code', 'other'], env);
    expect(early).toMatchObject({ code: 2, stderr: expect.stringMatching(/^error: --reason-code may be given only/) });
    const unknown = await runCommand(['transfers', 'set-status', id, 'FAILED', '--reason-code', 'bad_mood'], env);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('name_mismatch') });
    expect(await json('transfers', 'set-status', id, 'FAILED', '--reason-code', 'name_mismatch')).toMatchObject({
      status: 'FAILED',
      reason_code: 'name_mismatch',
    });
  });

  test('fails for an invalid transition and names the valid ones', async () => {
    const { id } = await createTransfer();
    const { code, stderr } = await runCommand(['transfers', 'set-status', id, 'COMPLETED'], env);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^The transfer is CREATED [^\n]*PROCESSING[^\n]*\n$/),
    });
  });
});

describe('keys', () => {
  test('list prints ids, states and times, and no key material', async () => {
    const [{ kid: old }, { kid }] = [
      await json<{ kid: string }>('keys', 'rotate'),
      await json<{ kid: string }>('keys', 'rotate'),
    ];
    const expired = new Date(Date.now() - 2 * 3_600_000);
    const { kid: older } = await database.prisma.signingKey.create({
      data: { kid: 'older', publicJwk: {}, privateKeyEnvelope: 'sealed', createdAt: expired, retiredAt: expired },
    });
    const times = {
      created_at: expect.any(String),
      retired_at: expect.any(String),
      verifies_until: expect.any(String),
    };
    expect(await json('keys', 'list')).toEqual([
      { kid, state: 'signing', created_at: expect.any(String), retired_at: null, verifies_until: null },
      { kid: old, state: 'verifying', ...times },
      { kid: older, state: 'expired', ...times },
    ]);
    const { stdout } = await runCommand(['keys', 'list'], env);
    expect(stdout).toMatch(new RegExp(`^${kid}\\tsigning\\t[^\\n]+Z\\t\\t\\n${old}\\tverifying\\t`));
    await database.prisma.signingKey.deleteMany();
  });

  test('rotate-master re-encrypts every secret; a second run finds nothing to do', async () => {
    await json('keys', 'rotate');
    const before = env;
    const count = await database.prisma.signingKey.count();
    env = {
      ...before,
      MASTER_KEY: Buffer.alloc(32, 'n').toString('base64'),
      MASTER_KEY_PREVIOUS: before.MASTER_KEY ?? '',
    };
    expect(await json('keys', 'rotate-master')).toEqual({ endpoints: 0, clients: 0, signing_keys: count });
    expect(await json('keys', 'rotate-master')).toEqual({ endpoints: 0, clients: 0, signing_keys: 0 });
    env = { ...env, MASTER_KEY: before.MASTER_KEY ?? '', MASTER_KEY_PREVIOUS: '' };
    const clientId = await makeClient(database);
    const ids: string[] = [];
    for (let made = 0; made < 4; made++) ids.push((await makeEndpoint(database, clientId)).id);
    const { code, stderr } = await runCommand(['keys', 'rotate-master'], env);
    const named = ids.slice(0, 3).map((id) => `webhook_endpoints ${id}`);
    expect([code, stderr]).toEqual([
      1,
      `neither MASTER_KEY nor MASTER_KEY_PREVIOUS decrypts ${count + 4} rows, of which the first are: ${named.join(', ')}\n`,
    ]);
    await database.prisma.endpoint.deleteMany({ where: { clientId } });
    env = before;
  });
});

test.each([
  ['set-concurrency', 'max_concurrency', 100],
  ['set-rate', 'max_per_second', 1_000],
])('endpoints %s sets %s up to %d, and rejects an invalid limit', async (command, field, most) => {
  const { id } = await makeEndpoint(database, await makeClient(database));
  expect(await json('endpoints', command, id, `${most}`)).toMatchObject({ webhookId: id, [field]: most });
  expect(await json('endpoints', command, id, 'default')).toMatchObject({ [field]: null });
  for (const limit of ['0', `${most + 1}`, '1.5', 'none', '']) {
    const { code, stderr } = await runCommand(['endpoints', command, id, limit], env);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('Give a number from 1 to ') });
  }
});

describe('endpoints list', () => {
  test('--failing says which endpoints are failing, since when and why', async () => {
    const { id: webhookId, clientId } = await makeEndpoint(database, await makeClient(database));
    expect((await runCommand(['endpoints', 'list', '--failing'], env)).stdout).toBe('none\n');
    const hours = new EndpointHours(database, silentLog);
    const startedAt = new Date();
    hours.count(webhookId, { ...refusedBy(503), startedAt, durationMs: 10 });
    await hours.write();
    const failure = { at: new Date(startedAt.getTime() + 10).toISOString(), error: 'status', response_status: 503 };
    const failing_since = failure.at;
    expect(await json('endpoints', 'list', '--failing', '--client', clientId)).toMatchObject([
      { webhookId, client_id: clientId, enabled: true, failing_since, last_success_at: null, last_failure: failure },
    ]);
    const { stdout } = await runCommand(['endpoints', 'list', '--failing'], env);
    expect(stdout).toContain(
      [webhookId, clientId, 'true', '', '', failing_since, '0', '', '503', 'status', '', 'https://'].join('\t'),
    );
  });
});

test.each([
  ['endpoints', 'disable'],
  ['clients', 'revoke'],
  ['clients', 'erase'],
])('%s %s needs --yes without a terminal', async (...command) => {
  const { id, clientId } = await makeEndpoint(database, await makeClient(database));
  const args = [...command, command[0] === 'clients' ? clientId : id];
  for (const input of ['', 'yes\n']) {
    const { code, stdout, stderr } = await runCommand(args, env, input);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: .*--yes.*\n$/);
  }
  expect(await database.prisma.endpoint.findUniqueOrThrow({ where: { id } })).toMatchObject({ enabled: true });
  const client = await database.prisma.client.findUniqueOrThrow({ where: { id: clientId } });
  expect(client).toMatchObject({ revokedAt: null, erasedAt: null });
});

describe('clients revoke on a terminal', () => {
  onLinux('asks, and revokes only after `yes`', async () => {
    const id = await makeClient(database);
    const revokedAt = async () => (await database.prisma.client.findUniqueOrThrow({ where: { id } })).revokedAt;
    const answer = (input: string) => answerOnTerminal(['clients', 'revoke', id], env, input);
    expect(answer('no\n')).toContain('nothing was changed');
    expect(await revokedAt()).toBeNull();
    answer('yes\n');
    expect(await revokedAt()).not.toBeNull();
  });
});

describe('endpoints disable on a terminal', () => {
  onLinux('says what it cancels, and asks', async () => {
    const { id, url } = await makeEndpoint(database, await makeClient(database));
    const isEnabled = async () => (await database.prisma.endpoint.findUniqueOrThrow({ where: { id } })).enabled;
    expect(answerOnTerminal(['endpoints', 'disable', id], env, 'no\n')).toContain(
      `No pending deliveries will be cancelled. Disable ${url}? Type yes: `,
    );
    await makeBacklog(database, id, 1_018);
    const refused = answerOnTerminal(['endpoints', 'disable', id], env, 'no\n');
    expect(refused).toContain('1,018 pending deliveries will be cancelled.');
    expect(refused).toContain('nothing was changed');
    expect(await isEnabled()).toBe(true);
    await makeBacklog(database, id, COUNTED_TO_CANCEL);
    expect(answerOnTerminal(['endpoints', 'disable', id], env, 'yes\n')).toContain('10,000 or more pending deliveries');
    expect(await isEnabled()).toBe(false);
  });
});

test('migrate applies pending migrations and can be run again', async () => {
  await database.pool.query('drop schema public cascade');
  await database.pool.query('create schema public');
  const address = process.env.TEST_TEMPORAL_ADDRESS ?? '';
  env = { ...env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'default' };
  expect(((await json('migrate')).applied as string[]).length).toBeGreaterThan(0);
  expect(await pendingMigrations(database)).toEqual([]);
  expect(await json('migrate')).toEqual({ applied: [], temporal: [] });
});

describe('transfers', () => {
  test('list has the work list of a payment rail, oldest first, and show the history', async () => {
    const client = await makeClient(database);
    const [first, second] = [await makeTransfer(database, client), await makeTransfer(database, client)];
    const list = await json<{ id: string }[]>(
      'transfers',
      'list',
      '--status',
      'CREATED',
      '--client',
      client,
      '--oldest',
    );
    expect(list).toMatchObject([
      { id: first.id, client_id: client },
      { id: second.id, client_id: client },
    ]);
    const page = await runCommand(['transfers', 'list', '--client', client, '--limit', '1'], env);
    expect(page.stdout).toContain(second.id);
    expect(page.stderr).toContain(`--cursor ${second.id}`);
    const shown = await json('transfers', 'show', first.id);
    expect(shown).toMatchObject({ id: first.id, client_id: client, status: 'CREATED' });
    const { stdout } = await runCommand(['transfers', 'show', first.id], env);
    expect(stdout).toMatch(/^amount +\{"value":\d+,"currency":"[A-Z]{3}"\}$/m);
    expect(await runCommand(['transfers', 'show', newId()], env)).toMatchObject({ code: 1 });
    expect(await runCommand(['transfers', 'list', '--client', newId()], env)).toMatchObject({ code: 1 });
  });
});

test('clients set-limits sets what is given, and default restores the value of the deployment', async () => {
  const id = await makeClient(database);
  expect(await json('clients', 'set-limits', id, '--rate', '5', '--endpoints', '0')).toMatchObject({
    rate_limit: 5,
    max_endpoints: 0,
  });
  expect(await json('clients', 'set-limits', id, '--rate', 'default')).toMatchObject({
    rate_limit: null,
    max_endpoints: 0,
  });
  expect(await runCommand(['clients', 'set-limits', id, '--rate', '0'], env)).toMatchObject({ code: 2 });
  expect(await runCommand(['clients', 'set-limits', id], env)).toMatchObject({
    code: 2,
    stderr: /give --rate or --endpoints/,
  });
});
