import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { changeStatus } from '../../src/transfers/change-status.js';
import { must } from '../support/caller.js';
import { type MortalService, startMortalService } from '../support/mortal-service.js';
import { recordingHandover } from '../support/recording-handover.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The whole service in one process dies between two steps of a first attempt, once at each failpoint. The table in
// docs/reliability.md has the result of each. Each test continues with the state that the test before it leaves.

let mortal: MortalService;
beforeAll(async () => {
  mortal = await startMortalService();
}, 60_000);
afterAll(() => mortal?.stop(), 60_000);

test.each<[string, number, number[], { arrivals: number; attempts: number }]>([
  ['after-commit', 1, [], { arrivals: 1, attempts: 1 }],
  ['before-post', 1, [], { arrivals: 1, attempts: 1 }],
  ['after-post', 1, [], { arrivals: 2, attempts: 1 }],
  ['before-record', 1, [], { arrivals: 2, attempts: 1 }],
  ['after-record', 1, [], { arrivals: 1, attempts: 1 }],
  ['before-start', 1, [], { arrivals: 1, attempts: 1 }],
  ['after-start', 1, [], { arrivals: 1, attempts: 1 }],
  ['before-mark', 1, [], { arrivals: 1, attempts: 1 }],
  ['after-mark', 1, [], { arrivals: 1, attempts: 1 }],
  // The second attempt follows at once, under the same lease.
  ['after-post', 2, [500], { arrivals: 3, attempts: 2 }],
  ['after-record', 2, [500], { arrivals: 2, attempts: 2 }],
])(
  '%s, pass %d: delivers the committed change when the receiver responds with %j: %j',
  async (at, passes, given, expected) => {
    const transfer = await mortal.makeTransfer();
    mortal.responses.statuses = given;
    const response = await mortal.dieAndBegin([at, passes], () => mortal.change(transfer));
    expect([200, undefined]).toContain(response?.status);
    const { attempts } = await mortal.untilDelivered(transfer);
    expect({ arrivals: mortal.arrivalsOf(transfer).length, attempts: attempts.length }).toEqual(expected);
  },
);

test('before-commit: makes no change, and the same Idempotency-Key makes it once', async () => {
  const transfer = await mortal.makeTransfer();
  mortal.responses.statuses = [];
  const key = { 'Idempotency-Key': transfer };
  expect(await mortal.dieAndBegin(['before-commit', 1], () => mortal.change(transfer, key))).toBeUndefined();
  expect(await must(mortal.client('GET', `/transfers/${transfer}`))).toMatchObject({ status: 'CREATED' });
  expect((await must(mortal.client('GET', `/events?transfer_id=${transfer}`))).data).toEqual([]);
  expect((await mortal.change(transfer, key)).status).toBe(200);
  await mortal.untilDelivered(transfer);
  expect(mortal.arrivalsOf(transfer)).toHaveLength(1);
});

test('after-commit with an Idempotency-Key: replays the committed change for the same key', async () => {
  const transfer = await mortal.makeTransfer();
  const key = { 'Idempotency-Key': transfer };
  expect(await mortal.dieAndBegin(['after-commit', 1], () => mortal.change(transfer, key))).toBeUndefined();
  const { status, headers } = await mortal.change(transfer, key);
  expect([status, headers.get('idempotency-replayed')]).toEqual([200, 'true']);
  await mortal.untilDelivered(transfer);
  expect(mortal.arrivalsOf(transfer)).toHaveLength(1);
});

test('returns 503 when the connection to Postgres dies in the commit, makes no change, and accepts the request again', async () => {
  const transfer = await mortal.makeTransfer();
  const server = new pg.Client({ connectionString: mortal.database.url.reveal() });
  await server.connect();
  await server.query(`
    create function die() returns trigger language plpgsql as
      'begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(5); return null; end';
    create constraint trigger die_at_commit after insert on deliveries deferrable initially deferred
      for each row execute function die()`);
  expect((await mortal.change(transfer)).status).toBe(503);
  await server.query('drop trigger die_at_commit on deliveries');
  await server.end();
  expect(await must(mortal.client('GET', `/transfers/${transfer}`))).toMatchObject({ status: 'CREATED' });
  expect((await mortal.change(transfer)).status).toBe(200);
  await mortal.untilDelivered(transfer);
  expect(mortal.arrivalsOf(transfer)).toHaveLength(1);
});

test('after-lease: delivers an event of an API process once when the worker that leased it dies', async () => {
  const transferId = await mortal.makeTransfer();
  const elsewhere = recordingHandover();
  await mortal.dieAndBegin(['after-lease', 1], () =>
    changeStatus(mortal.database, elsewhere, { transferId, to: 'PROCESSING', reason: null }),
  );
  await mortal.untilDelivered(transferId);
  expect(mortal.arrivalsOf(transferId)).toHaveLength(1);
});

test('before-disable: keeps the record of a 410, and the next 410 disables the endpoint', async () => {
  const gone = await must(
    mortal.client('POST', '/webhook-endpoints', { url: `${mortal.receiver.url}/gone`, secret: SECRET }),
  );
  const isEnabled = async () => (await must(mortal.client('GET', `/webhook-endpoints/${gone.webhookId}`))).enabled;
  mortal.responses.statuses = [];
  const transfer = await mortal.makeTransfer();
  await mortal.dieAndBegin(['before-disable', 1], () => mortal.change(transfer));
  const { data } = await must(mortal.client('GET', `/webhook-endpoints/${gone.webhookId}/deliveries`));
  expect([data[0]?.status, await isEnabled()]).toEqual(['failed', true]);
  await mortal.change(await mortal.makeTransfer());
  await waitFor('the endpoint to be disabled', async () => !(await isEnabled()));
});

test('nothing is in progress after all failpoints, and the record agrees with the receiver', () =>
  mortal.expectTrueRecord());

test('after-removed: continues the removal of expired events, and leaves none half removed', async () => {
  const retention = { RETENTION: '1s' };
  await mortal.stopService();
  await mortal.begin(retention);
  const options = { workflowId: 'remove', taskQueue: 'webhook-deliveries' };
  const removal = () => mortal.temporal.client.workflow.start('removeExpired', options);
  await mortal.dieAndBegin(['after-removed', 1], removal, retention);
  await mortal.temporal.client.workflow.getHandle('remove').result();
  const [left] = await mortal.database.query<{ events: number; deliveries: number; attempts: number }>(
    `select (select count(*)::int from events) as events, (select count(*)::int from deliveries) as deliveries,
            (select count(*)::int from attempts) as attempts`,
    [],
  );
  expect(left).toEqual({ events: 0, deliveries: 0, attempts: 0 });
});
