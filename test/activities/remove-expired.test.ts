import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createRemoveExpiredActivities } from '../../activities/remove-expired.js';
import type { Handle } from '../../src/platform/database/database.js';
import { TABLES_WITH_EXPIRY } from '../../src/platform/retention.js';
import type { RemoveExpiredProgress } from '../../workflows/remove-expired.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

const DAY = 86_400_000;

let db: TestDatabase;
beforeEach(async () => {
  db = await createTestDatabase();
});
afterEach(() => db.drop());

function removeFor(database: Handle, turn: number) {
  const { removeExpiredFor } = createRemoveExpiredActivities(database, DAY, silentLog, turn);
  return (after: string | null): Promise<RemoveExpiredProgress> =>
    new MockActivityEnvironment().run(removeExpiredFor, { after });
}

it('removes stored responses batch by batch, even if no event has expired', async () => {
  const clientId = await makeClient(db);
  await db.query(
    `insert into idempotency_keys (client_id, key, request_hash, status, headers, body, created_at)
     select $1::uuid, n::text, '', 201, '{}', '{}', now() - interval '25 hours' from generate_series(1, 2500) n`,
    [clientId],
  );
  const remove = removeFor(db, 0);
  const counts: number[] = [];
  let after: string | null = null;
  do {
    const progress: RemoveExpiredProgress = await remove(after);
    expect(progress.removed).toBe(0);
    after = progress.after;
    counts.push(await db.prisma.idempotencyKey.count());
  } while (after !== null && counts.length < 10);
  expect(counts).toEqual([1_500, 500, 0]);
});

it('reads a table without expired rows once in a run, however many events the run removes', async () => {
  await db.query(
    `insert into events (id, client_id, transfer_id, type, body, created_at)
     select ('00000000-0001-7000-8000-' || lpad(n::text, 12, '0'))::uuid, gen_random_uuid(), gen_random_uuid(), 't', '{}', now()
       from generate_series(1, 1001) n`,
    [],
  );
  const statements: string[] = [];
  const counted: Handle = {
    ...db,
    query: (text, values) => {
      statements.push(text);
      return db.query(text, values);
    },
  };
  const reads = (table: string) => statements.filter((text) => text.includes(`delete from ${table} `)).length;
  expect(await removeFor(counted, 60_000)(null)).toEqual({ removed: 1_001, after: null });
  expect(reads('events')).toBe(6);
  expect(TABLES_WITH_EXPIRY.map(reads)).toEqual(TABLES_WITH_EXPIRY.map(() => 1));
});
