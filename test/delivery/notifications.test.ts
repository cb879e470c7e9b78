import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { QueuedAt, QueuedEvent } from '../../src/delivery/handover.js';
import { listenForAttempts, notifyHandover } from '../../src/delivery/notifications.js';
import { newId } from '../../src/platform/ids.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
const listeners: { stop(): Promise<void> }[] = [];
beforeAll(async () => {
  db = await createTestDatabase();
});
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.stop()));
});
afterAll(() => db.drop());

const clientId = newId();
const event = { clientId, deliveries: [{ endpointId: newId(), maxConcurrency: 3 }] } as unknown as QueuedEvent;
const withoutEndpoint = { clientId, deliveries: [] as unknown } as QueuedEvent;
const retry = { deliveryId: newId(), clientId, endpointId: newId(), maxConcurrency: null };

/** A worker that listens and has polled once, as it does after it has connected. It counts each endpoint that it expects. */
async function listen(wakesFirst: (wakeUp: number) => boolean = () => true, share = 1) {
  const worker = { polls: 0, expected: [] as QueuedAt[] };
  const receiver = {
    workers: {
      of: () => share,
      wakesFirst,
      wakesFirstAt: (_: string, __: number, wakeUp: number) => wakesFirst(wakeUp),
    },
    perEndpoint: 10,
    poll: () => void worker.polls++,
    expect: (at: QueuedAt) => void worker.expected.push(at),
  };
  const listener = listenForAttempts(db.url, receiver, silentLog);
  listeners.push(listener);
  await waitFor('the listener to be connected', () => worker.polls === 1);
  return Object.assign(worker, { listener });
}

describe('notifying workers of attempts', () => {
  it('reaches a worker that listens, once for many events at the same moment, and names the endpoints', async () => {
    const worker = await listen();
    const handover = notifyHandover(db, [], silentLog);
    const other = {
      ...event,
      deliveries: [{ endpointId: retry.endpointId, maxConcurrency: null }],
    } as unknown as QueuedEvent;
    for (let i = 0; i < 100; i++) handover.committed(i % 2 ? event : other);
    await waitFor('the notification', () => worker.expected.length === 2);
    await handover.flush();
    await db.query('select 1', []);
    expect(worker.expected.toSorted((one) => (one.maxConcurrency ? -1 : 1))).toEqual([
      { clientId, endpointId: event.deliveries[0]!.endpointId, maxConcurrency: 3 },
      { clientId, endpointId: retry.endpointId, maxConcurrency: null },
    ]);
    expect(worker.polls).toBe(1);
  });

  it('makes a worker scan the queue if too many endpoints are to be named', async () => {
    const worker = await listen();
    const handover = notifyHandover(db, [], silentLog);
    const deliveries = Array.from({ length: 81 }, () => ({ endpointId: newId(), maxConcurrency: null }));
    handover.committed({ clientId, deliveries } as unknown as QueuedEvent);
    await waitFor('the notification', () => worker.polls === 2);
    expect(worker.expected).toEqual([]);
  });

  it('is done for a manual retry, and for no event without an attempt', async () => {
    const worker = await listen();
    const query = jest.spyOn(db, 'query');
    const handover = notifyHandover(db, [], silentLog);
    handover.committed(withoutEndpoint);
    await handover.flush();
    expect(query).not.toHaveBeenCalled();
    handover.queued(retry);
    await waitFor('the notification', () => worker.expected.length === 1);
    query.mockRestore();
  });

  it('leases nothing for a process without a dispatcher', () => {
    expect(notifyHandover(db, [], silentLog).lease()).toBeNull();
  });

  it('fails no event when Postgres is unavailable', async () => {
    const away = Object.assign(Object.create(db), { query: () => Promise.reject(new Error('connect ECONNREFUSED')) });
    const handover = notifyHandover(away, [], silentLog);
    handover.committed(event);
    await handover.flush();
  });

  it('wakes one worker at once, and the others later, in case that one is dead', async () => {
    const numbers: number[] = [];
    const never = (number: number) => {
      numbers.push(number);
      return false;
    };
    const [first, other] = [await listen(), await listen(never)];
    const handover = notifyHandover(db, [], silentLog);
    for (let i = 0; i < 3; i++) {
      handover.committed(event);
      await handover.flush();
    }
    await waitFor('the worker that is woken first', () => first.expected.length === 3);
    await waitFor('the other worker', () => other.expected.length > 0);
    // One for all notifications of 100 ms.
    expect(other.expected.length).toBeLessThanOrEqual(numbers.length);
    expect(numbers.every((number) => number >= 0)).toBe(true);
  });

  it('does not wake a worker without a slot of the endpoint', async () => {
    const [without, first] = [await listen(() => true, 0), await listen()];
    const handover = notifyHandover(db, [], silentLog);
    handover.committed(event);
    await waitFor('the worker with a slot', () => first.expected.length === 1);
    await db.query(`select pg_notify('queue', '')::text`, []);
    await waitFor('a later notification', () => without.polls === 2);
    expect(without.expected).toEqual([]);
  });

  it('wakes every worker where the payload is not understood', async () => {
    const worker = await listen(() => false);
    for (const payload of ['', 'x', `7 ${newId()}`]) {
      const { polls } = worker;
      await db.query(`select pg_notify('queue', $1)::text`, [payload]);
      await waitFor('a poll', () => worker.polls > polls);
    }
    expect(worker.expected).toEqual([]);
  });

  it('wakes no worker after it was stopped', async () => {
    const [stopped, running] = [await listen(() => false), await listen()];
    const handover = notifyHandover(db, [], silentLog);
    handover.committed(event);
    await handover.flush();
    await waitFor('the notification', () => running.expected.length === 1);
    await stopped.listener.stop();
    const { length } = stopped.expected;
    handover.committed(event);
    await handover.flush();
    await waitFor('the second notification', () => running.expected.length === 2);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(stopped.expected).toHaveLength(length);
  });

  it('connects again when the connection is lost, and polls for a notification that it may have missed', async () => {
    const worker = await listen();
    await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen%'`,
      [],
    );
    await waitFor('the listener to be back', () => worker.polls === 2);
  });
});
