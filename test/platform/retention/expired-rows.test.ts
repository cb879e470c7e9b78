import { expect, it } from '@jest/globals';
import { removeExpiredRows, TABLES_WITH_EXPIRY } from '../../../src/platform/retention.js';
import { openTestDatabase } from '../../support/database.js';
import { makeClient, makeEndpoint, makeTransfer } from '../../support/factories.js';

const RETENTION = 3 * 3_600_000;

const db = await openTestDatabase();

/** Inserts a row whose time is `$1`: with the client `$2`, the endpoint `$3` and the transfer `$4`. */
const INSERTS = {
  idempotency_keys: `(client_id, key, request_hash, status, headers, body, created_at) select client, key, '', 201, '{}', '{}', at`,
  endpoint_hours: '(endpoint_id, hour, succeeded, failed) select endpoint, at, 1, 0',
  endpoint_disabled_periods: `(endpoint_id, started_at, ended_at, reason) select endpoint, now() - interval '99 hours' * random(), at, 'owner'`,
  sandbox_transfers: '(transfer_id, client_id, ended_at) select transfer, client, at',
  console_sessions: `(id, token_hash, client_id, role, scopes, signed_in_by, address, last_seen_at) select id, key::bytea, client, 'viewer', '{}', 'link', '', at`,
  console_codes: `(id, code_hash, client_id, role, scopes, expires_at) select id, key::bytea, client, 'viewer', '{}', at`,
  receiver_checks: '(id, client_id, endpoint_id, started_at) select id, client, endpoint, at',
  workers: '(id, alive_until) select id, at',
  apis: '(id, alive_until) select id, at',
  limit_uses: `select 'statements', key, '{}', true, at`,
} as const;

it.each<[keyof typeof INSERTS, (number | null)[], (number | null)[]]>([
  ['idempotency_keys', [25, 48, 24.1], [23.9]],
  ['endpoint_hours', [745, 746, 747], [1, 743]],
  ['endpoint_disabled_periods', [8, 6], [1, null]],
  ['sandbox_transfers', [25, 26], [23, null]],
  ['console_sessions', [1.1, 10], [0.9]],
  ['console_codes', [0.1, 10], [-0.1]],
  ['receiver_checks', [25, 26], [23]],
  ['workers', [1.1, 2], [0.9]],
  ['apis', [1.1, 2], [0.9]],
  ['limit_uses', [0.1, 2], [0]],
])('removes what has expired of %s, a limited number at a time, and nothing younger', async (table, expired, kept) => {
  expect(TABLES_WITH_EXPIRY).toContain(table);
  const clientId = await makeClient(db);
  const { id: endpointId } = await makeEndpoint(db, clientId);
  for (const hours of [...expired, ...kept]) {
    const { id: transferId } = await makeTransfer(db, clientId);
    await db.query(
      `with made as (select now() - $1::float8 * interval '1 hour' as at, $2::uuid as client, $3::uuid as endpoint,
                            $4::uuid as transfer, gen_random_uuid() as id, gen_random_uuid()::text as key)
       insert into ${table} ${INSERTS[table]} from made`,
      [hours, clientId, endpointId, transferId],
    );
  }
  const remove = (limit: number) => removeExpiredRows(db, table, RETENTION, limit);
  expect([await remove(1), await remove(10), await remove(10)]).toEqual([1, expired.length - 1, 0]);
  const [left] = await db.query<{ count: number }>(`select count(*)::int from ${table}`, []);
  expect(left?.count).toBe(kept.length);
});
