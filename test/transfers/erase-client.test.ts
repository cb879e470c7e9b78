import { inspect } from 'node:util';
import { expect, test } from '@jest/globals';
import { rowsOf as handled, nodesOf, openExplained } from '../../bench/lists/plans.js';
import { changeClient, revokeClient } from '../../src/auth/clients.js';
import { recordAudit } from '../../src/platform/audit.js';
import { newId } from '../../src/platform/ids.js';
import { eraseClient } from '../../src/transfers/erase-client.js';
import { openTestDatabase } from '../support/database.js';
import { BY_OPERATOR, makeClient, makeEndpoint, makeTransfer, OPERATOR } from '../support/factories.js';

const db = await openTestDatabase();

/** A client, revoked a minute ago, with five transfers and two endpoints. */
async function revoked(): Promise<string> {
  const id = await makeClient(db);
  await db.prisma.client.update({
    where: { id },
    data: { name: 'Lovelace & Co', networks: ['203.0.113.0/24'], notifyUrl: 'https://lovelace.example.com/told' },
  });
  const told = {
    type: 'endpoint.failing',
    clientId: id,
    body: '{"data":{"client_name":"Lovelace & Co"}}',
    open: false,
  };
  await db.prisma.notification.createMany({ data: [1, 2, 3].map(() => ({ id: newId(), ...told })) });
  for (const status of ['COMPLETED', 'FAILED', 'CANCELLED', 'RETURNED', 'COMPLETED'] as const) {
    const transfer = await makeTransfer(db, id, status);
    const data = { reference: 'rent of Ada', metadata: { payer: 'Ada' }, idempotencyKey: `rent of Ada ${newId()}` };
    await db.prisma.transfer.update({ where: { id: transfer.id }, data });
    await db.prisma.statusChange.updateMany({
      where: { transferId: transfer.id },
      data: { reason: 'Ada asked for it' },
    });
    await recordAudit(db, {
      ...{ ...BY_OPERATOR, action: 'transfers.set-status', target: transfer.id },
      details: { client_id: id, from: 'CREATED', to: status, reason: 'Ada asked for it' },
    });
  }
  await makeEndpoint(db, id, { url: 'https://lovelace.example.com/ada' });
  const gone = await makeEndpoint(db, id, { url: 'https://lovelace.example.com/old' });
  await db.prisma.endpoint.update({ where: { id: gone.id }, data: { deletedAt: new Date(), description: "Ada's" } });
  const stored = { requestHash: Buffer.from(''), status: 201, headers: {}, body: '{"name":"Ada Lovelace"}' };
  await db.prisma.idempotencyKey.createMany({ data: ['a', 'b', 'c'].map((key) => ({ clientId: id, key, ...stored })) });
  const details = { host: 'lovelace.example.com' };
  await recordAudit(db, { ...BY_OPERATOR, action: 'endpoints.update', target: gone.id, details });
  await changeClient(db, OPERATOR, id, { name: 'Lovelace', networks: ['203.0.113.1/32'] });
  await revokeClient(db, OPERATOR, id);
  await db.prisma.client.update({ where: { id }, data: { revokedAt: new Date(Date.now() - 60_000) } });
  return id;
}

/** The actions whose entries name what is erased. */
const NAMING = ['transfers.set-status', 'endpoints.update', 'clients.rename', 'clients.allow'];

/** Every row of the client. */
async function rowsOf(clientId: string) {
  const where = { where: { clientId }, orderBy: { id: 'asc' } } as const;
  return {
    client: await db.prisma.client.findUniqueOrThrow({ where: { id: clientId } }),
    transfers: await db.prisma.transfer.findMany({ ...where, include: { history: true } }),
    endpoints: await db.prisma.endpoint.findMany(where),
    notifications: await db.prisma.notification.count({ where: { clientId } }),
    responses: await db.prisma.idempotencyKey.count({ where: { clientId } }),
  };
}
const entriesOf = async (target: string) =>
  (await db.prisma.auditEntry.findMany({ where: { target }, orderBy: { id: 'asc' } })).map(({ action }) => action);

test('erases names, accounts and urls of the client alone, and keeps amounts, statuses, times and ids', async () => {
  const [id, other] = [await revoked(), await revoked()];
  const [before, others] = [await rowsOf(id), await rowsOf(other)];
  expect(await eraseClient(db, BY_OPERATOR, id, 2)).toEqual({ transfers: 5, endpoints: 2 });
  const { client, transfers, endpoints, responses, notifications } = await rowsOf(id);
  const targets = [id, ...[...transfers, ...endpoints].map((row) => row.id)];
  const entries = await db.prisma.auditEntry.findMany({ where: { target: { in: targets } } });
  expect(entries.map(({ action }) => action)).toEqual(expect.arrayContaining(NAMING));
  expect(inspect({ client, transfers, endpoints, entries }, { depth: 9 })).not.toMatch(
    /Lovelace|lovelace|DE0212|rent of|payer|asked for|203\.0\.113/,
  );
  const erased = {
    destinationName: 'erased',
    destinationAccount: 'erased',
    reference: null,
    metadata: {},
    idempotencyKey: null,
  };
  expect(transfers).toEqual(
    before.transfers.map((transfer) => ({
      ...{ ...transfer, ...erased },
      history: transfer.history.map((step) => ({ ...step, reason: null })),
    })),
  );
  expect(client).toMatchObject({ name: 'erased', networks: [], erasedAt: expect.any(Date) });
  expect(endpoints.map(({ deletedAt, secretEnvelope }) => [deletedAt === null, secretEnvelope])[0]).toEqual([
    false,
    null,
  ]);
  expect([responses, notifications]).toEqual([0, 0]);
  expect(await rowsOf(other)).toEqual(others);
  expect(await entriesOf(id)).toEqual(['clients.rename', 'clients.allow', 'clients.revoke', 'clients.erase']);

  expect(await eraseClient(db, BY_OPERATOR, id)).toEqual({ transfers: 0, endpoints: 0 });
  expect(await entriesOf(id)).toEqual(['clients.rename', 'clients.allow', 'clients.revoke', 'clients.erase']);
});

test('a run that stops between two batches is completed by the next one', async () => {
  const id = await revoked();
  const [, , , fourth] = (await rowsOf(id)).transfers;
  const check = `id <> '${fourth?.id}' or destination_name <> 'erased'`;
  await db.query(`alter table transfers add constraint stopped check (${check}) not valid`, []);
  await expect(eraseClient(db, BY_OPERATOR, id, 2)).rejects.toThrow('stopped');
  await db.query('alter table transfers drop constraint stopped', []);
  const names = async () => (await rowsOf(id)).transfers.map(({ destinationName }) => destinationName === 'erased');
  expect([await names(), (await rowsOf(id)).client.erasedAt]).toEqual([[true, true, false, false, false], null]);
  expect(await eraseClient(db, BY_OPERATOR, id, 2)).toEqual({ transfers: 3, endpoints: 0 });
  expect([await names(), (await rowsOf(id)).client.name]).toEqual([[true, true, true, true, true], 'erased']);
});

test.each([
  ['an unknown client', () => newId(), 'There is no such client.'],
  ['a client that is not revoked', () => makeClient(db), 'the client is not revoked'],
  [
    'a client with a transfer that has not ended',
    async () => {
      const id = await revoked();
      await makeTransfer(db, id, 'SENT');
      return id;
    },
    'is SENT; end it first',
  ],
])('%s is left as it is', async (_, make, message) => {
  const id = await make();
  const before = await db.prisma.auditEntry.count();
  await expect(eraseClient(db, BY_OPERATOR, id)).rejects.toThrow(message);
  expect(await db.prisma.transfer.count({ where: { clientId: id, destinationName: 'erased' } })).toBe(0);
  expect(await db.prisma.auditEntry.count()).toBe(before);
});

test('reads and changes no more rows at once than a page, by index, beside a client with many transfers', async () => {
  const [id, busy] = [await revoked(), await makeClient(db)];
  await db.query(
    `insert into transfers (id, client_id, amount_value, amount_currency, destination_name, destination_account, status)
     select gen_random_uuid(), $1::uuid, 1, 'EUR', 'Bob', 'DE03', 'COMPLETED' from generate_series(1, 20000)`,
    [busy],
  );
  await db.query('analyze transfers', []);
  const explained = openExplained(db.url.reveal());
  try {
    await eraseClient(explained, BY_OPERATOR, id, 2);
    const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
    const ofTransfers = nodes.filter((node) => node['Relation Name'] === 'transfers');
    expect(ofTransfers.length).toBeGreaterThan(3);
    expect(Math.max(...ofTransfers.map(handled))).toBeLessThanOrEqual(5);
  } finally {
    await explained.close();
  }
});
