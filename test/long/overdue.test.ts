import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { must } from '../support/caller.js';
import { readDelivered } from '../support/delivered.js';
import { makeTransfers } from '../support/load.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// Temporal has lost its store, and `OVERDUE` events (20,000 by default) whose workflows slept in it are overdue.

const COUNT = Number(process.env.OVERDUE ?? 20_000);
const HOURS = 3_600_000;
const localDir = makeLocalDir();
let service: ServiceProcess;
let receiver: RawReceiver;
let database: pg.Client;
/** Events that the receiver has refused once. */
const refused = new Set<string>();
/** Transfers whose first attempt the receiver rejects. */
const fresh = new Set<string>();

beforeAll(async () => {
  receiver = await startRawReceiver((socket, number) => {
    const { id, transferId } = readDelivered(receiver.requests[number - 1] ?? '', SECRET);
    const refuses = fresh.has(transferId) && !refused.has(id);
    if (refuses) refused.add(id);
    socket.write(`HTTP/1.1 ${refuses ? 503 : 204} x\r\ncontent-length: 0\r\n\r\n`);
  });
  service = await startService(localDir.path, { DELIVERY_RETRY_DELAYS: '0s,5m', LOG_LEVEL: 'error' });
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

async function change(): Promise<string> {
  const [id] = await makeTransfers(service.client, 1);
  fresh.add(id!);
  await must(service.client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
  return id!;
}

const statusOf = async (transferId: string) =>
  (
    await database.query(
      'select d.status::text from deliveries d join events v on v.id = d.event_id where v.transfer_id = $1',
      [transferId],
    )
  ).rows[0]?.status as string | undefined;

test(
  `${COUNT} overdue events that Temporal has lost are delivered, and new events meanwhile`,
  async () => {
    const first = await change();
    await waitFor('the first event', async () => (await statusOf(first)) === 'succeeded');
    await database.query(OVERDUE, [COUNT]);
    await database.query('analyze');
    const begun = performance.now();
    const seconds = () => ((performance.now() - begun) / 1_000).toFixed(0);
    /** From the change to the success of the second attempt, which follows at once, ms. */
    const late: number[] = [];
    let left = COUNT;
    const load = (async () => {
      while (left > 0) {
        const start = performance.now();
        const id = await change();
        await waitFor('a fresh event', async () => (await statusOf(id)) === 'succeeded', HOURS);
        late.push(performance.now() - start);
        await sleep(500);
      }
    })();
    let said = 0;
    await waitFor(
      'the last overdue event',
      async () => {
        await sleep(1_000);
        const { rows } = await database.query<{ left: number }>(LEFT);
        left = rows[0]?.left ?? COUNT;
        if (performance.now() - said > 15_000) {
          said = performance.now();
          process.stderr.write(`${seconds()} s: ${left} left; fresh events: ${late.length}, ${spread(late)}\n`);
        }
        return left === 0;
      },
      4 * HOURS,
    );
    process.stderr.write(`${COUNT} overdue events delivered in ${seconds()} s; fresh events: ${spread(late)}\n`);
    await load;
    const arrived = new Map<string, number>();
    for (const raw of receiver.requests) {
      const { id, transferId } = readDelivered(raw, SECRET);
      if (!fresh.has(transferId) || transferId === first) arrived.set(id, (arrived.get(id) ?? 0) + 1);
    }
    // The first event, which was rejected once, belongs to the same transfer as the copies.
    expect(arrived.size).toBe(COUNT + 1);
  },
  5 * HOURS,
);

function spread(late: readonly number[]): string {
  const sorted = [...late].sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
  return `second attempt after p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

/** Copies the only event, each copy with its own body and id, as if it slept before attempt 2 until long ago. */
const OVERDUE = `
with made as (
  insert into events (id, client_id, transfer_id, type, body, created_at)
  select n.id, v.client_id, v.transfer_id, v.type, replace(v.body, v.id::text, n.id::text), v.created_at
    from events v, lateral (select gen_random_uuid() as id, v.id as same from generate_series(1, $1::int)) n
  returning id
)
insert into deliveries (id, event_id, endpoint_id, client_id, attempt_count, rung, asleep, next_attempt_at, ladder)
select gen_random_uuid(), made.id, d.endpoint_id, d.client_id, 1, 1, true, now() - interval '11 minutes' - random() * interval '1 hour', d.ladder
  from made, deliveries d`;

const LEFT = `
select count(*)::int as left from deliveries where status = 'pending' and next_attempt_at < now() - interval '10 minutes'`;
