import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { QueuedEvent } from '../../src/delivery/handover.js';
import { listenForAttempts, notifyHandover } from '../../src/delivery/notifications.js';
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

const event = { deliveries: [{}] } as unknown as QueuedEvent;
const withoutEndpoint = { deliveries: [] as unknown } as QueuedEvent;
const retry = { deliveryId: 'd', clientId: 'c', endpointId: 'e' };

/** A worker that listens and has polled once, as it does after it has connected. */
async function listen(wakesFirst: (wakeUp: number) => boolean = () => true) {
  const worker = { polls: 0 };
  const poll = () => void worker.polls++;
  const listener = listenForAttempts(db.url, wakesFirst, poll, silentLog);
  listeners.push(listener);
  await waitFor('the listener to be connected', () => worker.polls === 1);
  return Object.assign(worker, { listener });
}

describe('notifying workers of attempts', () => {
  it('reaches a worker that listens, once for many events at the same moment', async () => {
    const worker = await listen();
    const handover = notifyHandover(db, [], silentLog);
    for (let i = 0; i < 100; i++) handover.committed(event);
    await waitFor('the notification', () => worker.polls > 1);
    await handover.flush();
    await db.query('select 1', []);
    expect(worker.polls).toBe(2);
  });

  it('is done for a manual retry, and for no event without an attempt', async () => {
    const worker = await listen();
    const query = jest.spyOn(db, 'query');
    const handover = notifyHandover(db, [], silentLog);
    handover.committed(withoutEndpoint);
    await handover.flush();
    expect(query).not.toHaveBeenCalled();
    handover.queued(retry);
    await waitFor('the notification', () => worker.polls > 1);
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

  it('makes one worker poll at once, and the others later, in case that one is dead', async () => {
    const turns: number[] = [];
    const started = performance.now();
    const never = (turn: number) => {
      turns.push(turn);
      return false;
    };
    const [first, other] = [await listen(), await listen(never)];
    const handover = notifyHandover(db, [], silentLog);
    for (let i = 0; i < 3; i++) {
      handover.committed(event);
      await handover.flush();
    }
    await waitFor('the worker whose turn it is', () => first.polls === 4);
    const untilLate = performance.now() - started;
    await waitFor('the other worker', () => other.polls > 1);
    for (const turn of turns) expect(turn).toBeGreaterThanOrEqual(0);
    // One poll for all notifications of this time.
    if (untilLate < 100) expect(other.polls).toBe(2);
  });

  it('makes no worker poll after it was stopped', async () => {
    const [stopped, running] = [await listen(() => false), await listen()];
    const handover = notifyHandover(db, [], silentLog);
    handover.committed(event);
    await handover.flush();
    await waitFor('the notification', () => running.polls === 2);
    await stopped.listener.stop();
    const { polls } = stopped;
    handover.committed(event);
    await handover.flush();
    await waitFor('the second notification', () => running.polls === 3);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(stopped.polls).toBe(polls);
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
