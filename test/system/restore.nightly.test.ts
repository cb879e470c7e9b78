import { execFileSync } from 'node:child_process';
import { realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { must } from '../support/caller.js';
import { runCli } from '../support/cli.js';
import { readDelivered } from '../support/delivered.js';
import { makeTransfers } from '../support/load.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The data folders of the embedded stack are copied while it is stopped and restored later, so that one of the two
// stores goes back in time. All tests share one LOCAL_DIR: each continues with the state that the test before it
// leaves.

const localDir = makeLocalDir();
/** The longest ladder allowed, so that no delivery is exhausted before the end of the tests. */
const DELIVERY_RETRY_DELAYS = ['0s', ...Array<string>(49).fill('4s')].join(',');
/** Transfers whose deliveries the receiver accepts. It rejects the others with 503. */
const accepted = new Set<string>();
let service: ServiceProcess;
let receiver: RawReceiver;
let asking: string;

beforeAll(async () => {
  receiver = await startRawReceiver((socket, number) => {
    const { transferId } = readDelivered(receiver.requests[number - 1] ?? '', SECRET);
    socket.write(`HTTP/1.1 ${accepted.has(transferId) ? 204 : 503} x\r\ncontent-length: 0\r\n\r\n`);
  });
  await start();
  await must(service.client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
}, 400_000);

afterAll(async () => {
  await receiver?.close();
  await service?.stop();
  await localDir.remove();
});

const start = async () => {
  service = await startService(localDir.path, { DELIVERY_RETRY_DELAYS });
};

interface Row {
  id: string;
  eventId: string;
  status: string;
  attempts: number;
  /** Null: its workflow knows the event. */
  outbox: string | null;
}

async function query<T extends pg.QueryResultRow>(text: string, transferId: string): Promise<T | undefined> {
  const client = new pg.Client({ connectionString: service.sandbox.database_url });
  await client.connect();
  try {
    const { rows } = await client.query<T>(text, [transferId]);
    return rows[0];
  } finally {
    await client.end();
  }
}

/** The row of the delivery of a transfer's event. */
const rowOf = (transferId: string) =>
  query<Row>(
    `select d.id, d.event_id as "eventId", d.status::text, d.attempt_count as attempts, o.state::text as outbox
       from deliveries d join events v on v.id = d.event_id left join outbox o on o.event_id = v.id where v.transfer_id = $1`,
    transferId,
  );

/** Lets a sleeping delivery be overdue for long enough that the watchdog queues it. */
async function oversleep(transferId: string): Promise<void> {
  const moved = await query(
    `update deliveries d set next_attempt_at = now() - interval '3 minutes'
       from events v where v.id = d.event_id and v.transfer_id = $1 and d.asleep returning d.id`,
    transferId,
  );
  expect(moved).toBeDefined();
}

/** Changes a new transfer, whose delivery is rejected until the transfer is in `accepted`. */
async function refuseOne(): Promise<string> {
  const [id] = await makeTransfers(service.client, 1);
  await must(service.client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
  return id!;
}

const attempted = (transferId: string, times: number) =>
  waitFor(`attempt ${times}`, async () => {
    const row = await rowOf(transferId);
    return row && row.attempts >= times && row;
  });

/** Waits for an attempt, and for the workflow that sleeps after it. */
async function asleepInTemporal(transferId: string, times: number): Promise<void> {
  await attempted(transferId, times);
  await waitFor('the workflow', async () => (await rowOf(transferId))?.outbox === null);
}

async function cli<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCli([...args, '--json'], { LOCAL_DIR: localDir.path });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

const folderOf = (part: 'postgres' | 'temporal') => realpathSync(join(localDir.path, part));
const copyOf = (part: 'postgres' | 'temporal') => `${folderOf(part)}.copy`;

/** Keeps owners and modes: Postgres rejects a folder that another user owns. */
function copy(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  execFileSync('cp', ['-a', from, to]);
}

test('Postgres restored under a newer Temporal: deliveries continue from their rows, and lost events are listed', async () => {
  asking = await refuseOne();
  const delivered = await refuseOne();
  await asleepInTemporal(asking, 2);
  await asleepInTemporal(delivered, 2);
  await service.stop();
  for (const part of ['postgres', 'temporal'] as const) copy(folderOf(part), copyOf(part));

  await start();
  const restoredTo = new Date().toISOString();
  const before = (await rowOf(asking))!.attempts;
  const lost = await refuseOne();
  accepted.add(delivered);
  await waitFor('the delivery', async () => (await rowOf(delivered))?.status === 'succeeded');
  const { eventId, id: lostId } = await attempted(lost, 2);
  await attempted(asking, before + 3);
  await service.stop();
  copy(copyOf('postgres'), folderOf('postgres'));

  const received = receiver.requests.length;
  await start();
  const started = performance.now();
  const after = (await rowOf(asking))!.attempts;
  // Its workflow knows an attempt that is far ahead of the row.
  await attempted(asking, after + 2);
  expect(performance.now() - started).toBeLessThan(30_000);
  const lines = await waitFor('the log to name the lost event', () => {
    const found = service.said.filter((line) => line.includes(eventId));
    return found.length > 0 && found;
  });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { event_id: eventId, delivery_id: lostId, msg: expect.stringContaining('the delivery is gone') },
  ]);
  expect(await cli('deliveries', 'lost', '--since', restoredTo)).toMatchObject([
    { event_id: eventId, transfer_id: lost },
  ]);

  // Its workflow ended in the lost time, so only the watchdog wakes it.
  expect(await rowOf(delivered)).toMatchObject({ status: 'pending' });
  await oversleep(delivered);
  await waitFor('the delivery again', async () => (await rowOf(delivered))?.status === 'succeeded');
  const again = receiver.requests.slice(received).map((raw) => readDelivered(raw, SECRET).transferId);
  expect(again.filter((id) => id === delivered)).toHaveLength(1);
}, 400_000);

test('Temporal restored under a newer Postgres: delivered events are not sent again, and the others continue', async () => {
  const begun = await refuseOne();
  await asleepInTemporal(begun, 3);
  const received = receiver.requests.length;
  const before = (await rowOf(asking))!.attempts;
  await service.stop();
  copy(copyOf('temporal'), folderOf('temporal'));

  await start();
  await attempted(asking, before + 2);
  // Temporal no longer has the workflow of this delivery. After the watchdog's attempt a new one continues.
  const { attempts } = (await rowOf(begun))!;
  await oversleep(begun);
  await attempted(begun, attempts + 3);
  const { status, attempts: numbered } = (await rowOf(asking))!;
  expect(status).toBe('pending');
  const arrived = receiver.requests.slice(received).map((raw) => readDelivered(raw, SECRET).transferId);
  expect(arrived.every((id) => id === asking || id === begun)).toBe(true);
  expect(arrived.filter((id) => id === asking).length).toBeGreaterThanOrEqual(numbered - before);
  accepted.add(begun);
  await waitFor('the delivery', async () => (await rowOf(begun))?.status === 'succeeded');
}, 400_000);

test('Temporal emptied under Postgres: pending deliveries continue, and new workflows show them', async () => {
  await service.stop();
  rmSync(folderOf('temporal'), { recursive: true });
  await start();
  const { attempts, eventId } = (await rowOf(asking))!;
  await oversleep(asking);
  await attempted(asking, attempts + 2);
  accepted.add(asking);
  await waitFor('the delivery', async () => (await rowOf(asking))?.status === 'succeeded');
  const { temporal_address: address, temporal_namespace: namespace } = service.sandbox;
  const temporal = new Client({ connection: await Connection.connect({ address }), namespace });
  try {
    await waitFor('the workflow to be completed', async () => {
      const { status } = await temporal.workflow.getHandle(eventId).describe();
      return status.name === 'COMPLETED';
    });
  } finally {
    await temporal.connection.close();
  }
}, 400_000);
