import { beforeEach, expect, test } from '@jest/globals';
import { ANY, readWaiting, shareWaiting } from '../../src/delivery/waiting.js';
import { createTransfer } from '../../src/transfers/create-transfer.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';
import { emptyOutbox, setOutbox } from '../support/outbox.js';

const db = await openTestDatabase();
beforeEach(async () => {
  await emptyOutbox(db);
  await db.query('delete from queue', []);
  await db.query('delete from sandbox_transfers', []);
  await db.query('delete from workflow_starts', []);
});

const ALWAYS = { isFirst: true };
const RULES = { environment: 'sandbox' as const, sandboxStep: 2_000 };
const NONE = { queued: false, expired: false, starts: false, recoveries: false, workflows: false, sandboxUsed: false };

test.each(['again', 'start', 'delivered'] as const)('finds an event in the state %s, leased or not', async (state) => {
  const { eventId } = await commitEvent(db);
  await db.query('delete from queue', []);
  expect(await readWaiting(db, true)).toEqual(NONE);
  for (const lease of ['20 s', '-1 s']) {
    await setOutbox(db, eventId, state);
    await db.query(`update outbox set lease_until = now() + $1::text::interval`, [lease]);
    expect(await readWaiting(db, true)).toEqual({ ...NONE, starts: true });
  }
});

test('finds an expired lease of a clock that was ahead, behind a live one', async () => {
  await commitEvent(db, { endpoints: 2 });
  await db.query(
    `update queue set lease_until = now() + case when endpoint_id = (select max(endpoint_id::text)::uuid from queue)
                                                 then interval '20 s' else interval '1 h' end`,
    [],
  );
  expect(await readWaiting(db, true)).toEqual({ ...NONE, expired: true });
});

test('finds a workflow that is due for a start, and none that was leased or has ended', async () => {
  const destination = { name: 'Ada', account: 'SANDBOX-COMPLETE' };
  const rest = { amount: { value: 1, currency: 'EUR' }, destination, reference: null, metadata: {} };
  await createTransfer(db, RULES, { clientId: await makeClient(db), ...rest });
  const used = { ...NONE, sandboxUsed: true };
  expect(await readWaiting(db, true)).toEqual({ ...used, workflows: true });
  await db.query(`update workflow_starts set start_after = now() + interval '20 s'`, []);
  expect(await readWaiting(db, true)).toEqual(used);
  await db.query('delete from workflow_starts', []);
  expect(await readWaiting(db, true)).toEqual(used);
});

test('only a worker that has its turn looks at the queue', async () => {
  await commitEvent(db);
  const read = (isFirst: boolean) => shareWaiting(db, { isFirst })();
  expect([await read(false), await read(true)]).toEqual([NONE, { ...NONE, queued: true }]);
});

test('each loop queries the table itself if the shared read fails', async () => {
  const away = Object.assign(Object.create(db), { query: () => Promise.reject(new Error('away')) });
  expect(await shareWaiting(away, ALWAYS)()).toEqual(ANY);
});
