import type { Handle } from '../../src/platform/database/database.js';
import { removeExpired } from '../../src/platform/remove-expired.js';
import { TABLES_WITH_EXPIRY } from '../../src/platform/retention.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';
import { emptyOutbox } from '../support/outbox.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

const db = await openTestDatabase();

async function run(work: () => Promise<unknown>, options: { db?: Handle; isFirst?: boolean } = {}): Promise<void> {
  const { isFirst = true } = options;
  const loop = removeExpired({ db, workers: { isFirst }, retention: 3_600_000, log: silentLog, ...options });
  loop.start();
  await work().finally(() => loop.stop());
}

it('removes ended events and stored responses that have expired, and reads each other table once in a run', async () => {
  const pending = await commitEvent(db);
  await db.query(
    `insert into events (id, client_id, transfer_id, type, body, created_at)
     select ('00000000-0001-7000-8000-' || lpad(n::text, 12, '0'))::uuid, gen_random_uuid(), gen_random_uuid(), 't', '{}', now()
       from generate_series(1, 1001) n`,
    [],
  );
  const clientId = await makeClient(db);
  await db.query(
    `insert into idempotency_keys (client_id, key, request_hash, status, headers, body, created_at)
     select $1::uuid, n::text, '', 201, '{}', '{}', now() - interval '25 hours' from generate_series(1, 2500) n`,
    [clientId],
  );
  await emptyOutbox(db);
  const statements: string[] = [];
  const query: Handle['query'] = (text, values) => {
    statements.push(text);
    return db.query(text, values);
  };
  const left = async () => [await db.prisma.event.count(), await db.prisma.idempotencyKey.count()];
  const removed = () => waitFor('the removal', async () => (await left()).join() === '1,0');
  await run(removed, { db: { ...db, query } });
  expect(await db.prisma.event.findMany()).toMatchObject([{ id: pending.eventId }]);
  const reads = (table: string) => statements.filter((text) => text.includes(`delete from ${table} `)).length;
  expect(reads('events')).toBe(6);
  const other = TABLES_WITH_EXPIRY.filter((table) => table !== 'idempotency_keys');
  expect([reads('idempotency_keys'), ...new Set(other.map(reads))]).toEqual([3, 1]);
});

it('leaves the work to the first of the live workers', async () => {
  const asked: string[] = [];
  const query: Handle['query'] = async (text) => {
    asked.push(text);
    return [];
  };
  await run(async () => undefined, { isFirst: false, db: { ...db, query } });
  expect(asked).toEqual([]);
});
