import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { isRunning } from '../../src/local/child.js';
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

// The embedded stack in one process while one of its parts is down, as its clients see it. kills.test.ts has the
// separate processes of production; test/long/failpoints.test.ts has every two steps. All tests share one LOCAL_DIR:
// each continues with the state that the test before it leaves.

const CHANGES = 200;
const localDir = makeLocalDir();
const random = seededRandom('crash.test');
let service: ServiceProcess;
let receiver: RawReceiver;

beforeAll(async () => {
  receiver = await startRawReceiver('HTTP/1.1 204 x\r\n\r\n');
  service = await startService(localDir.path);
  await must(service.client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
}, 400_000);

afterAll(async () => {
  await receiver?.close();
  await service?.stop();
  await localDir.remove();
});

/** A random number of changes within the load. */
const somewhere = () => Math.floor(CHANGES * (0.2 + 0.5 * random()));

test('SIGTERM under load exits with code 0, leaves no process running and loses no acknowledged change', async () => {
  const ids = await makeTransfers(service.client, CHANGES);
  const changes = changeAll(service.client, ids, 'PROCESSING');
  const moment = somewhere();
  await waitFor('some changes', () => changes.acknowledged.length >= moment);
  const parts = readState(localDir.path);
  expect(await service.stop()).toBe(0);
  await changes.done;
  expect([parts?.postgres, parts?.temporal].map((part) => part && isRunning(part))).toEqual([false, false]);

  service = await startService(localDir.path);
  await expectNothingLost(ids, changes.acknowledged);
}, 400_000);

test('kill -9 of Postgres under load causes 503 until Postgres is back, and loses no acknowledged change', async () => {
  const ids = await makeTransfers(service.client, CHANGES);
  const changes = changeAll(service.client, ids, 'PROCESSING');
  const moment = somewhere();
  await waitFor('some changes', () => changes.acknowledged.length >= moment);
  killPart(localDir.path, 'postgres');
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

test('kill -9 of Temporal stops neither changes nor first attempts, and each event has one workflow once it is back', async () => {
  const ids = await makeTransfers(service.client, CHANGES);
  const first = changeAll(service.client, ids.slice(0, 50), 'PROCESSING');
  await waitFor('some changes', () => first.acknowledged.length > 20);
  killPart(localDir.path, 'temporal');
  // Another listener holds its port for a while, so that it stays down.
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
    // Workflows start oldest first, except within one batch, which starts together, and a batch that Temporal's return
    // splits, whose rest starts a second later. A random order has a median distance of 59.
    const order = started.sort((a, b) => a.at - b.at).map(({ id }) => id);
    const late = [...eventIds].sort().map((id, i) => Math.abs(order.indexOf(id) - i));
    expect(late.sort((a, b) => a - b)[late.length >> 1]).toBeLessThan(45);
  } finally {
    await connection.close();
  }
}, 400_000);

/** The number of arrivals of each transfer's event. Throws for a wrong signature. */
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

/**
 * Waits until the outbox is empty, then expects one event for each change, which arrived, and every acknowledged
 * change.
 */
async function expectNothingLost(ids: readonly string[], acknowledged: readonly string[]): Promise<string[]> {
  const database = new pg.Client({ connectionString: service.sandbox.database_url });
  await database.connect();
  try {
    const one = async (text: string, values: unknown[] = []) => (await database.query(text, values)).rows[0].n;
    await waitFor(
      'the outbox to be empty',
      async () => (await one('select count(*)::int as n from outbox')) === 0,
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
