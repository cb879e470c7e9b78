import { expect, it } from '@jest/globals';
import { newId } from '../../../src/platform/ids.js';
import { removeExpiredRows } from '../../../src/platform/retention.js';
import { openTestDatabase } from '../../support/database.js';
import { makeClient, makeEndpoint, makeTransfer } from '../../support/factories.js';

const HOUR = 3_600_000;
const RETENTION = 720 * HOUR;

const db = await openTestDatabase();

it('removes stored responses after 24 h, a limited number at a time, and no younger one', async () => {
  const clientId = await makeClient(db);
  for (const [key, age] of [
    ['a', 25],
    ['b', 48],
    ['c', 24.1],
    ['young', 23.9],
  ] as const) {
    const createdAt = new Date(Date.now() - age * HOUR);
    const answer = { requestHash: Buffer.alloc(32), status: 201, headers: {}, body: '{}' };
    await db.prisma.idempotencyKey.create({ data: { clientId, key, createdAt, ...answer } });
  }
  expect(await removeExpiredRows(db, 'idempotency_keys', RETENTION, 2)).toBe(2);
  expect(await removeExpiredRows(db, 'idempotency_keys', RETENTION, 2)).toBe(1);
  expect((await db.prisma.idempotencyKey.findMany()).map(({ key }) => key)).toEqual(['young']);
});

it('removes hourly counts after 31 days, at most `limit` at once', async () => {
  const endpointId = newId();
  for (const hours of [1, 743, 745, 746, 747]) {
    await db.query(
      `insert into endpoint_hours (endpoint_id, hour, succeeded, failed)
       values ($1::uuid, now() - $2::int * interval '1 hour', 1, 0)`,
      [endpointId, hours],
    );
  }
  expect(await removeExpiredRows(db, 'endpoint_hours', RETENTION, 2)).toBe(2);
  expect(await removeExpiredRows(db, 'endpoint_hours', RETENTION, 2)).toBe(1);
  expect(await db.prisma.endpointHour.count()).toBe(2);
});

it('removes periods that ended before the retention, and keeps those that lasted into it', async () => {
  const { id: endpointId } = await makeEndpoint(db, await makeClient(db));
  const ago = (hours: number) => new Date(Date.now() - hours * HOUR);
  for (const [from, to] of [
    [9, 8],
    [7, 6],
    [5, 1],
    [4, null],
  ] as const) {
    const endedAt = to === null ? null : ago(to);
    await db.prisma.disabledPeriod.create({ data: { endpointId, startedAt: ago(from), endedAt, reason: 'owner' } });
  }
  expect(await removeExpiredRows(db, 'endpoint_disabled_periods', 3 * HOUR, 1)).toBe(1);
  expect(await removeExpiredRows(db, 'endpoint_disabled_periods', 3 * HOUR, 10)).toBe(1);
  expect(await removeExpiredRows(db, 'endpoint_disabled_periods', 3 * HOUR, 10)).toBe(0);
  expect(await db.prisma.disabledPeriod.count()).toBe(2);
});

it('removes the records of sandbox transfers a day after their end, and no transfer', async () => {
  const clientId = await makeClient(db);
  const ids: string[] = [];
  for (const endedHoursAgo of [null, 23, 25, 26]) {
    const { id } = await makeTransfer(db, clientId);
    const endedAt = endedHoursAgo === null ? null : new Date(Date.now() - endedHoursAgo * HOUR);
    await db.prisma.sandboxTransfer.create({ data: { transferId: id, clientId, endedAt } });
    ids.push(id);
  }
  expect(await removeExpiredRows(db, 'sandbox_transfers', RETENTION, 1)).toBe(1);
  expect(await removeExpiredRows(db, 'sandbox_transfers', RETENTION, 10)).toBe(1);
  expect(await removeExpiredRows(db, 'sandbox_transfers', RETENTION, 10)).toBe(0);
  const left = await db.prisma.sandboxTransfer.findMany();
  expect(left.map(({ transferId }) => transferId).sort()).toEqual(ids.slice(0, 2).sort());
  expect(await db.prisma.transfer.count()).toBe(4);
});

it('removes expired sessions and codes of the console, and keeps live ones', async () => {
  for (const minutes of [59, 61, 600]) {
    await db.query(
      `insert into console_sessions (id, token_hash, client_id, role, scopes, signed_in_by, address, last_seen_at)
       values ($1::uuid, decode($2, 'hex'), $1::uuid, 'viewer', '{}', 'link', '', now() - $3::int * interval '1 minute')`,
      [newId(), `0${minutes}`.padStart(8, '0'), minutes],
    );
    await db.query(
      `insert into console_codes (id, code_hash, client_id, role, scopes, expires_at)
       values ($1::uuid, decode($2, 'hex'), $1::uuid, 'viewer', '{}', now() + (60 - $3::int) * interval '1 minute')`,
      [newId(), `0${minutes}`.padStart(8, '0'), minutes],
    );
  }
  for (const table of ['console_sessions', 'console_codes'] as const) {
    expect(await removeExpiredRows(db, table, RETENTION, 1)).toBe(1);
    expect(await removeExpiredRows(db, table, RETENTION, 10)).toBe(1);
    expect(await removeExpiredRows(db, table, RETENTION, 10)).toBe(0);
  }
  const [left] = await db.query(
    `select (select count(*)::int from console_sessions) as sessions, (select count(*)::int from console_codes) as codes`,
    [],
  );
  expect(left).toEqual({ sessions: 1, codes: 1 });
});

it('removes checks of receivers after a day, with their cases', async () => {
  for (const hours of [23, 25]) {
    const startedAt = new Date(Date.now() - hours * HOUR);
    const check = { id: newId(), clientId: newId(), endpointId: newId(), startedAt };
    await db.prisma.receiverCheck.create({
      data: { ...check, cases: { create: { position: 1, name: 'valid', passed: true } } },
    });
  }
  expect(await removeExpiredRows(db, 'receiver_checks', RETENTION, 10)).toBe(1);
  expect(await db.prisma.receiverCheckCase.count()).toBe(1);
});

it('removes killed processes, and windows of limits that have ended', async () => {
  for (const age of ['2 hours', '1 second']) {
    const [id, ago] = [newId(), age];
    await db.query(`insert into workers values ($1::uuid, now() - $2::interval)`, [id, ago]);
    await db.query(`insert into apis values ($1::uuid, now() - $2::interval)`, [id, ago]);
    await db.query(`insert into limit_uses values ('statements', $1, '{}', true, now() - $2::interval)`, [id, ago]);
  }
  for (const table of ['workers', 'apis', 'limit_uses'] as const) {
    expect(await removeExpiredRows(db, table, RETENTION, 10)).toBe(1);
    expect(await removeExpiredRows(db, table, RETENTION, 10)).toBe(0);
  }
});
