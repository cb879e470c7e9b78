import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { must } from '../support/caller.js';
import { readDelivered } from '../support/delivered.js';
import { makeTransfers } from '../support/load.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// More changes than Temporal takes: `OVERLOAD` a second (150 by default) for `OVERLOAD_SECONDS` (40), of which one in
// twenty needs a retry. It has a Temporal of its own, which nothing else loads.

const RATE = Number(process.env.OVERLOAD ?? 150);
const SECONDS = Number(process.env.OVERLOAD_SECONDS ?? 40);
const COUNT = RATE * SECONDS;
/** WORKFLOWS_TRAIL, s. */
const TRAIL = 10;
/** A retry that is due at once needs no workflow. This one sleeps in its workflow, s. */
const DELAY = 2;
/** The loop that skips runs every 5 s; the rest is for a machine that does other work too. */
const SLACK = 20;

const localDir = makeLocalDir();
let service: ServiceProcess;
let receiver: RawReceiver;
let database: pg.Client;
/** Transfers whose first attempt the receiver rejects. */
const refused = new Set<string>();

beforeAll(async () => {
  const seen = new Set<string>();
  receiver = await startRawReceiver((socket, number) => {
    const { id, transferId } = readDelivered(receiver.requests[number - 1] ?? '', SECRET);
    const refuses = refused.has(transferId) && !seen.has(id);
    seen.add(id);
    socket.write(`HTTP/1.1 ${refuses ? 503 : 204} x\r\ncontent-length: 0\r\n\r\n`);
  });
  service = await startService(localDir.path, { WORKFLOWS_TRAIL: `${TRAIL}s`, DELIVERY_RETRY_DELAYS: `${DELAY}s` });
  database = new pg.Client({ connectionString: service.sandbox.database_url });
  await database.connect();
  await must(service.client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
}, 400_000);

afterAll(async () => {
  await database?.end();
  await receiver?.close();
  await service?.stop();
  await localDir.remove();
}, 60_000);

async function number(query: string): Promise<number> {
  const { rows } = await database.query<{ number: number }>(query);
  return rows[0]?.number ?? Number.NaN;
}

test(
  `${RATE} changes a second for ${SECONDS} s: the backlog stays bounded, retries are on time, nothing is lost`,
  async () => {
    const transfers = await makeTransfers(service.client, COUNT);
    for (let i = 0; i < COUNT; i += 20) refused.add(transfers[i]!);
    let loading = true;
    const ages: number[] = [];
    const watch = (async () => {
      while (loading) {
        ages.push(await number(OLDEST_DELIVERED));
        await sleep(500);
      }
    })();
    const begun = performance.now();
    const change = async (id: string, index: number) => {
      await sleep(Math.max(0, begun + (index * 1_000) / RATE - performance.now()));
      await must(service.client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
    };
    await Promise.all(transfers.map(change));
    await waitFor('an empty outbox', async () => (await number(WAITING)) === 0, 120_000);
    loading = false;
    await watch;

    // Bounded: no delivered event waits for its workflow for much longer than WORKFLOWS_TRAIL.
    expect(Math.max(...ages)).toBeLessThan(TRAIL + SLACK);
    // On time: each retry was made while the delivered events of its time still waited.
    await waitFor('the retries', async () => (await number(PENDING)) === 0, 60_000);
    expect(await number(LATEST_RETRY)).toBeLessThan(DELAY + TRAIL);
    // Nothing is lost, repeated or made without a record.
    const arrived = new Map<string, number>();
    for (const raw of receiver.requests) {
      const { transferId } = readDelivered(raw, SECRET);
      arrived.set(transferId, (arrived.get(transferId) ?? 0) + 1);
    }
    expect(arrived.size).toBe(COUNT);
    expect([...arrived].filter(([id, times]) => times !== (refused.has(id) ? 2 : 1))).toEqual([]);

    // The load was more than Temporal took, else this test shows nothing. Each retried event has its workflow.
    const { rows } = await database.query<{ id: string; transfer: string }>(
      'select id, transfer_id as transfer from events',
    );
    const connection = await Connection.connect({ address: service.sandbox.temporal_address });
    try {
      const client = new Client({ connection, namespace: service.sandbox.temporal_namespace });
      const started = new Set<string>();
      const missing = () => rows.filter(({ id, transfer }) => refused.has(transfer) && !started.has(id));
      await waitFor("the retried events' workflows in the list", async () => {
        for await (const { workflowId } of client.workflow.list()) started.add(workflowId);
        return missing().length === 0;
      });
      process.stderr.write(`${started.size} of ${rows.length} events got a workflow\n`);
      expect(rows.some(({ id }) => !started.has(id))).toBe(true);
    } finally {
      await connection.close();
    }
  },
  (SECONDS + 600) * 1_000,
);

const OLDEST_DELIVERED = `
select coalesce(extract(epoch from now() - min(v.created_at)), 0)::float8 as number
  from outbox o join events v on v.id = o.event_id where o.state = 'delivered'`;
const WAITING = 'select count(*)::int as number from outbox';
const PENDING = `select count(*)::int as number from deliveries where status = 'pending'`;
/** From the end of the first attempt, s. */
const LATEST_RETRY = `
select coalesce(max(extract(epoch from b.started_at - a.started_at) - a.duration_ms / 1000.0), 0)::float8 as number
  from attempts a join attempts b on b.delivery_id = a.delivery_id and b.number = 2
 where a.number = 1 and b.trigger = 'schedule'`;
