import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { HEADS, type LeaseRequest, leaseById, leaseOfEndpoints, readHeads } from '../../src/delivery/lease.js';
import { freeExpired, queueOverdue, readTargets } from '../../src/delivery/queue.js';
import { newId } from '../../src/platform/ids.js';
import { commitEvent, commitEvents } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint } from '../support/factories.js';

const db = await openTestDatabase();
let other: pg.Client;
beforeAll(async () => {
  other = await db.openSession();
});
beforeEach(() => db.query('truncate events, queue, webhook_endpoints cascade', []));

const TOKEN = newId();
/** Leases of the endpoints that a scan finds: `attempts` of each that `allowances` does not name. */
async function lease(rest: Partial<LeaseRequest & { attempts: number }> = {}) {
  const { attempts = 1_000, token = TOKEN, limit = 1_000, allowances = [] } = rest;
  const named = new Map(allowances.map((one) => [one.endpointId, one.attempts]));
  const found = new Set((await readHeads(db, null)).heads.map(({ endpointId }) => endpointId));
  const all = [...found].map((endpointId) => ({ endpointId, attempts: named.get(endpointId) ?? attempts }));
  return leaseOfEndpoints(db, { token, limit, allowances: all });
}
const idsOf = (rows: readonly { deliveryId: string }[]) => rows.map(({ deliveryId }) => deliveryId);
const sorted = (rows: readonly { deliveryId: string }[]) => idsOf(rows).sort();
const rowOf = (deliveryId: string) => db.prisma.queuedAttempt.findUnique({ where: { deliveryId } });
const setLease = (until: string) =>
  db.query(`update queue set lease_token = $1::uuid, lease_until = ${until}`, [TOKEN]);

/** Free attempts of one endpoint, the oldest first. */
async function freeAttempts(count: number) {
  const events = await commitEvents(db, count);
  const { endpointId } = events[0]!.deliveries[0]!;
  return {
    clientId: events[0]!.clientId,
    endpointId,
    events,
    ids: events.flatMap(({ deliveries }) => idsOf(deliveries)),
  };
}
async function freeAttempt() {
  const { ids, events, ...rest } = await freeAttempts(1);
  return { ...rest, deliveryId: ids[0]!, eventId: events[0]!.eventId, body: events[0]!.body };
}

describe('a lease of the endpoints that a scan finds', () => {
  it('continues where the scan before it ended, and looks at 200 lines', async () => {
    const clientId = await makeClient(db);
    const { id } = await makeEndpoint(db, clientId);
    await db.query(
      `insert into webhook_endpoints (id, client_id, url, secret_envelope, updated_at)
       select gen_random_uuid(), client_id, url, secret_envelope, now()
         from webhook_endpoints, generate_series(2, $2::int) where id = $1::uuid`,
      [id, HEADS + 10],
    );
    const { deliveries } = await commitEvent(db, { clientId, endpoints: 0 });
    const first = await readHeads(db, null);
    expect(first.heads).toHaveLength(HEADS);
    expect(first.next).toMatchObject({ endpointId: first.heads.at(-1)?.endpointId, line: 'fresh' });
    const second = await readHeads(db, first.next);
    expect(second.next).toBeNull();
    const found = [...first.heads, ...second.heads].map(({ endpointId }) => endpointId);
    expect(found).toEqual(deliveries.map(({ endpointId }) => endpointId).sort());
  });

  it('continues after a line, not after its endpoint', async () => {
    const { ids, endpointId } = await freeAttempts(2);
    await db.query(`update queue set line = 'late' where delivery_id = $1::uuid`, [ids[1]]);
    const after = { endpointId, line: 'fresh' } as const;
    expect((await readHeads(db, after)).heads).toMatchObject([{ endpointId, line: 'late' }]);
  });

  it('leases other attempts while another worker leases the oldest ones at the same moment', async () => {
    const { ids } = await freeAttempts(4);
    await other.query('begin');
    await other.query('select from queue where delivery_id = any($1::uuid[]) for update', [ids.slice(0, 2)]);
    expect(sorted(await lease({ attempts: 2 }))).toEqual(ids.slice(2).sort());
    await other.query('commit');
    expect(sorted(await lease())).toEqual(ids.slice(0, 2).sort());
  });
});

describe('a lease by name', () => {
  it('waits for no attempt that another worker leases at the same moment, and knows one that has left the queue', async () => {
    const [locked, gone] = [await freeAttempt(), await freeAttempt()];
    await db.query('delete from queue where delivery_id = $1::uuid', [gone.deliveryId]);
    await other.query('begin');
    await other.query('select from queue where delivery_id = $1::uuid for update', [locked.deliveryId]);
    expect(await leaseById(db, TOKEN, [locked.deliveryId, gone.deliveryId, newId()])).toEqual([]);
    await other.query('commit');
  });
});

it('an attempt whose delivery retention removed leaves the queue when its lease ends', async () => {
  const { deliveryId } = await freeAttempt();
  await db.query('delete from deliveries where id = $1::uuid', [deliveryId]);
  expect(await lease()).toEqual([]);
  expect(await freeExpired(db)).toEqual([]);
  expect(await rowOf(deliveryId)).toMatchObject({ leaseToken: TOKEN });
  await setLease(`now() - interval '1 millisecond'`);
  expect(await freeExpired(db)).toEqual([]);
  expect(await rowOf(deliveryId)).toBeNull();
});

it.each([
  ['is pending at an active endpoint', 'select', true],
  [
    'has ended, and is retried manually',
    `with q as (update queue set trigger = 'manual') update deliveries set status = 'failed'`,
    true,
  ],
  ['is at a disabled endpoint', 'update webhook_endpoints set enabled = false', false],
  ['is at a deleted endpoint', 'update webhook_endpoints set deleted_at = now()', false],
  ['was leased again', `update queue set lease_until = lease_until + interval '1 second'`, false],
  ['is leased by another process', 'update queue set lease_token = gen_random_uuid()', false],
  ['has left the queue', 'delete from queue', false],
])('readTargets judges a leased attempt that %s', async (_, change, isDue) => {
  const { deliveryId } = await freeAttempt();
  const [leased] = await leaseById(db, TOKEN, [deliveryId]);
  await db.query(change, []);
  const targets = await readTargets(db, TOKEN, [{ ...leased!, deliveryId: newId() }, leased!]);
  expect(targets.map(Boolean)).toEqual([false, isDue]);
});

/** A sleeping delivery whose next attempt is due in so many ms. */
async function sleeping(dueIn: number, { recovered = false } = {}) {
  const attempt = await freeAttempt();
  await db.query('delete from queue where delivery_id = $1::uuid', [attempt.deliveryId]);
  await db.query(
    `update deliveries set attempt_count = 1, rung = 1, asleep = true, recovered = $3::boolean,
            next_attempt_at = now() + $2::int * interval '1 millisecond' where id = $1::uuid`,
    [attempt.deliveryId, dueIn, recovered],
  );
  return attempt;
}

describe('queueOverdue', () => {
  const OVERDUE = 120_000;

  it('waits for no delivery that another transaction has locked', async () => {
    const [locked, free] = [await sleeping(-130_000), await sleeping(-130_000)];
    await other.query('begin');
    await other.query('select from deliveries where id = $1::uuid for update', [locked.deliveryId]);
    expect(await queueOverdue(db, OVERDUE, 500)).toHaveLength(1);
    expect(await rowOf(free.deliveryId)).not.toBeNull();
    await other.query('commit');
    expect(await queueOverdue(db, OVERDUE, 500)).toHaveLength(1);
  });
});
