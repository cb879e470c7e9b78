import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ANY, readWaiting, shareWaiting } from '../../src/outbox/waiting.js';
import { createTransfer } from '../../src/transfers/create-transfer.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.query(`update events set outbox = 'done'`, []);
  await db.query('delete from sandbox_transfers', []);
});

const RULES = { environment: 'sandbox' as const, sandboxStep: 2_000 };
const NONE = { attempt: false, start: false, trailing: false, sandbox: false, sandboxUsed: false };

test.each(['attempt', 'start', 'trailing'])('finds an event in the state %s alone, leased or not', async (outbox) => {
  expect(await readWaiting(db)).toEqual(NONE);
  const { eventId } = await commitEvent(db);
  for (const lease of ['20 s', '-1 s']) {
    await db.query(
      `update events set outbox = $2::outbox_state, lease_until = now() + $3::text::interval where id = $1::uuid`,
      [eventId, outbox, lease],
    );
    expect(await readWaiting(db)).toEqual({ ...NONE, [outbox]: true });
  }
});

test('finds a transfer whose workflow is due for a start, and none that was leased or has ended', async () => {
  const destination = { name: 'Ada', account: 'SANDBOX-COMPLETE' };
  const rest = { amount: { value: 1, currency: 'EUR' }, destination, reference: null, metadata: {} };
  await createTransfer(db, RULES, { clientId: await makeClient(db), ...rest });
  const used = { ...NONE, sandboxUsed: true };
  expect(await readWaiting(db)).toEqual({ ...used, sandbox: true });
  await db.query(`update sandbox_transfers set start_after = now() + interval '20 s'`, []);
  expect(await readWaiting(db)).toEqual(used);
  await db.query('update sandbox_transfers set start_after = now(), ended_at = now()', []);
  expect(await readWaiting(db)).toEqual(used);
});

test('polls of the same moment share one statement', async () => {
  let statements = 0;
  const counting = Object.assign(Object.create(db), {
    query(...given: Parameters<TestDatabase['query']>) {
      statements++;
      return db.query(...given);
    },
  });
  const waiting = shareWaiting(counting);
  expect(await Promise.all([waiting(), waiting(), waiting()])).toEqual([NONE, NONE, NONE]);
  expect(statements).toBe(1);
});

test('every loop looks for itself when Postgres does not answer', async () => {
  const away = Object.assign(Object.create(db), { query: () => Promise.reject(new Error('away')) });
  expect(await shareWaiting(away)()).toEqual(ANY);
});
