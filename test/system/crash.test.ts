import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { isRunning } from '../../src/local/process-record.js';
import { readState } from '../../src/local/stack-state.js';
import { must } from '../support/caller.js';
import { readDelivered } from '../support/delivered.js';
import { atOnce, changeAll, makeTransfers } from '../support/load.js';
import { makeLocalDir } from '../support/local-dir.js';
import { seededRandom } from '../support/random.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { killPart, type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The embedded stack in one process when a part of it ends: what clients see meanwhile. (kills.test.ts: production's shape;
// failpoints.test.ts: between any two steps.) One LOCAL_DIR all the way: what a test leaves, the next finds.

const CHANGES = 200;
const place = makeLocalDir();
const random = seededRandom('crash.test');
let service: ServiceProcess;
let receiver: RawReceiver;

beforeAll(async () => {
  receiver = await startRawReceiver('HTTP/1.1 204 x\r\n\r\n');
  service = await startService(place.path);
  await must(service.client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
}, 400_000);

afterAll(async () => {
  await receiver?.close();
  await service?.stop();
  await place.remove();
}, 60_000);

/** Some way into the load. */
const somewhere = () => Math.floor(CHANGES * (0.2 + 0.5 * random()));

test('SIGTERM under load: exit code 0, nothing left running, and no acknowledged change is lost', async () => {
  const ids = await makeTransfers(service.client, CHANGES);
  const changes = changeAll(service.client, ids, 'PROCESSING');
  const moment = somewhere();
  await waitFor('some changes', () => changes.acknowledged.length >= moment);
  const parts = readState(place.path);
  expect(await service.stop()).toBe(0);
  await changes.done;
  expect([parts?.postgres, parts?.temporal].map((part) => part && isRunning(part))).toEqual([false, false]);

  service = await startService(place.path);
  await expectNothingLost(ids, changes.acknowledged);
}, 400_000);

test('kill -9 of Postgres under load: 503 while it is away, and it goes on as before', async () => {
  const ids = await makeTransfers(service.client, CHANGES);
  const changes = changeAll(service.client, ids, 'PROCESSING');
  const moment = somewhere();
  await waitFor('some changes', () => changes.acknowledged.length >= moment);
  killPart(place.path, 'postgres');
  await changes.done;
  expect(Object.keys(changes.others)).toEqual(['503']);
  await waitFor('Postgres to be back', () => service.said.some((line) => line === 'Postgres is back'));
  const more = await waitFor('a change', async () => {
    const [id] = await makeTransfers(service.client, 1).catch(() => []);
    return id;
  });
  await must(service.client('POST', `/sandbox/transfers/${more}/status`, { status: 'PROCESSING' }));
  await expectNothingLost([...ids, more], [...changes.acknowledged, more]);
}, 400_000);

test('kill -9 of Temporal: changes and first attempts go on, and every event has one workflow when it is back', async () => {
  const ids = await makeTransfers(service.client, CHANGES);
  const first = changeAll(service.client, ids.slice(0, 50), 'PROCESSING');
  await waitFor('some changes', () => first.acknowledged.length > 20);
  killPart(place.path, 'temporal');
  // Its port is taken for a while, so that it stays away.
  const port = Number(service.sandbox.temporal_address.split(':').at(-1));
  const squatter = createServer((socket) => socket.destroy());
  await waitFor(
    'its port',
    () =>
      new Promise<boolean>((resolve) => {
        squatter
          .once('error', () => resolve(false))
          .once('listening', () => resolve(true))
          .listen(port, '127.0.0.1');
      }),
  );
  const second = changeAll(service.client, ids.slice(50), 'PROCESSING');
  await Promise.all([first.done, second.done]);
  expect([first.others, second.others]).toEqual([{}, {}]);
  await waitFor('all first attempts, with no Temporal', () => arrivals(ids).size === CHANGES);
  const { status, body } = await service.client('GET', '/readyz');
  expect([status, body.checks.temporal]).toEqual([200, 'unreachable']);
  squatter.close();

  const eventIds = await expectNothingLost(ids, ids);
  const { temporal_address: address, temporal_namespace: namespace } = service.sandbox;
  const connection = await Connection.connect({ address });
  try {
    const temporal = new Client({ connection, namespace });
    const started: { id: string; at: number }[] = [];
    await atOnce(16, eventIds, async (id) => {
      const { startTime, status } = await temporal.workflow.getHandle(id).describe();
      expect(status.name).not.toBe('FAILED');
      started.push({ id, at: startTime.getTime() });
    });
    // Oldest first, but for those of one round, which start together, and those of a round that Temporal's return cut in
    // two, which come a second later. By chance it were 59.
    const order = started.sort((a, b) => a.at - b.at).map(({ id }) => id);
    const late = [...eventIds].sort().map((id, i) => Math.abs(order.indexOf(id) - i));
    expect(late.sort((a, b) => a - b)[late.length >> 1]).toBeLessThan(45);
  } finally {
    await connection.close();
  }
}, 400_000);

/** How often each transfer's event arrived; each arrival rightly signed. */
function arrivals(ids: readonly string[]): Map<string, number> {
  const wanted = new Set(ids);
  const found = new Map<string, number>();
  for (const raw of receiver.requests) {
    const { transferId, validSignature } = readDelivered(raw, SECRET);
    if (!validSignature) throw new Error(`wrongly signed: ${raw}`);
    if (wanted.has(transferId)) found.set(transferId, (found.get(transferId) ?? 0) + 1);
  }
  return found;
}

/** Waits until the outbox is empty; then each change has one event, arrived, and nothing that was acknowledged is missing. */
async function expectNothingLost(ids: readonly string[], acknowledged: readonly string[]): Promise<string[]> {
  const database = new pg.Client({ connectionString: service.sandbox.database_url });
  await database.connect();
  try {
    const one = async (text: string, values: unknown[] = []) => (await database.query(text, values)).rows[0].n;
    await waitFor(
      'the outbox to be empty',
      async () => (await one(`select count(*)::int as n from events where outbox <> 'done'`)) === 0,
      180_000,
    );
    await waitFor(
      'every delivery to have succeeded',
      async () => (await one(`select count(*)::int as n from deliveries where status <> 'succeeded'`)) === 0,
      180_000,
    );
    const { rows } = await database.query<{ id: string; status: string; events: string[] }>(
      `select t.id, t.status::text, array_agg(e.id::text) filter (where e.id is not null) as events
         from transfers t left join events e on e.transfer_id = t.id where t.id = any($1::uuid[]) group by t.id`,
      [ids],
    );
    const changed = rows.filter(({ status }) => status === 'PROCESSING');
    expect(rows.filter(({ status, events }) => (status === 'PROCESSING') !== (events?.length === 1))).toEqual([]);
    const arrived = arrivals(ids);
    expect([...arrived.keys()].sort()).toEqual(changed.map(({ id }) => id).sort());
    expect(acknowledged.filter((id) => !arrived.has(id))).toEqual([]);
    const twice = [...arrived.values()].filter((times) => times > 1).length;
    process.stderr.write(
      `${expect.getState().currentTestName?.split(':')[0]}: ${acknowledged.length} acknowledged, ${changed.length} made, ${twice} delivered more than once\n`,
    );
    return changed.flatMap(({ events }) => events);
  } finally {
    await database.end();
  }
}
