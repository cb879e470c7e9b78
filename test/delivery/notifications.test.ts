import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { QueuedAt, QueuedEvent } from '../../src/delivery/handover.js';
import { AttemptListener, type ListenerOptions, notifyHandover } from '../../src/delivery/notifications.js';
import { sendWakeUps } from '../../src/delivery/wake-ups.js';
import type { Database } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import type { Log } from '../../src/platform/telemetry/log.js';
import { createTestDatabase, openTestDatabase } from '../support/database.js';
import { startHaltingProxy } from '../support/halting-proxy.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

const db = await openTestDatabase();
const listeners: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.stop()));
});

const clientId = newId();
const event = { clientId, deliveries: [{ endpointId: newId(), maxConcurrency: 3 }] } as unknown as QueuedEvent;
const retry = { deliveryId: newId(), clientId, endpointId: newId(), maxConcurrency: null };

/**
 * A worker that listens and has polled once, as it does after it has connected. It counts each endpoint that it
 * expects.
 */
async function listen(
  placeAt: (wakeUp: number) => number = () => 0,
  share = 1,
  options: Partial<ListenerOptions> = {},
) {
  const worker = { polls: 0, expected: [] as QueuedAt[] };
  const receiver = {
    workers: {
      of: () => share,
      placeAt: (_: string, __: number, wakeUp: number) => placeAt(wakeUp),
    },
    perEndpoint: 10,
    expectAny: () => void worker.polls++,
    expect: (at: QueuedAt) => void worker.expected.push(at),
  };
  const listener = new AttemptListener({ url: db.url, database: db, receiver, log: silentLog, ...options });
  listeners.push(listener);
  listener.start();
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

  it('sends nothing else of an attempt, such as its secret', async () => {
    await listen();
    const query = jest.spyOn(db, 'query');
    const wakeUps = sendWakeUps(db, silentLog);
    wakeUps.send([{ ...retry, secretEnvelope: 'v1:envelope' } as QueuedAt]);
    await wakeUps.flush();
    const sent = query.mock.calls.map(([, values]) => JSON.stringify(values));
    query.mockRestore();
    expect(sent.join()).toContain(retry.endpointId);
    expect(sent.join()).not.toContain('envelope');
  });

  // Every worker with a slot read the queue for each notification. With twenty workers, nine found nothing.
  it('wakes one worker at once, a second one later, in case that one is dead, and no other', async () => {
    const numbers: number[] = [];
    const second = (number: number) => {
      numbers.push(number);
      return 1;
    };
    const [first, other, third] = [await listen(), await listen(second), await listen(() => 2)];
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
    expect(third.expected).toEqual([]);
  });

  it('does not wake a worker without a slot of the endpoint', async () => {
    const [without, first] = [await listen(() => 0, 0), await listen()];
    const handover = notifyHandover(db, [], silentLog);
    handover.committed(event);
    await waitFor('the worker with a slot', () => first.expected.length === 1);
    await db.query(`select pg_notify('queue', '')::text`, []);
    await waitFor('a later notification', () => without.polls === 2);
    expect(without.expected).toEqual([]);
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

describe('a listener that hears nothing connects again', () => {
  const times = { reconnect: 50, check: 100, limit: 500 };
  const notify = (database: Database) => notifyHandover(database, [], silentLog).committed(event);
  const logged = () => {
    const lines: string[] = [];
    const line = (_: unknown, text?: string) => void lines.push(text ?? String(_));
    return { lines, log: Object.assign(Object.create(silentLog), { warn: line, info: line }) as Log };
  };

  it('when the network drops its packets, and nobody has closed the connection', async () => {
    const proxy = await startHaltingProxy(db.url);
    const { lines, log } = logged();
    const worker = await listen(undefined, 1, { url: proxy.url, times, log });
    await waitFor('a check', () => worker.listener.isUp);
    proxy.strand();
    await waitFor('the fault', () => !worker.listener.isUp);
    await waitFor('another connection', () => worker.listener.isUp);
    expect(worker.polls).toBeGreaterThanOrEqual(2);
    // On a machine that is slower than the limit, it connects more than once.
    expect([lines[0], lines.at(-1)]).toEqual([expect.stringContaining('connects again'), 'listens for attempts again']);
    notify(db);
    await waitFor('a notification', () => worker.expected.length === 1);
    await worker.listener.stop();
    await proxy.close();
  });

  it('when its name leads to another server, and the pool is there already', async () => {
    const primary = await createTestDatabase();
    const proxy = await startHaltingProxy(db.url);
    const worker = await listen(undefined, 1, { url: proxy.url, database: primary, times });
    expect(worker.listener.isUp).toBe(false);
    proxy.leadTo(primary.url);
    await waitFor('the other server', () => worker.listener.isUp);
    notify(primary);
    await waitFor('a notification', () => worker.expected.length === 1);
    await worker.listener.stop();
    await proxy.close();
    await primary.drop();
  });

  it('but not when the pool reaches no Postgres: then nobody notifies either', async () => {
    let reachable = true;
    const query = (...statement: Parameters<Database['query']>) =>
      reachable ? db.query(...statement) : Promise.reject(new Error('connect ECONNREFUSED'));
    const worker = await listen(undefined, 1, { database: { query } as Database, times });
    await waitFor('a check', () => worker.listener.isUp);
    reachable = false;
    await waitFor('the fault', () => !worker.listener.isUp);
    reachable = true;
    await waitFor('a check', () => worker.listener.isUp);
    expect(worker.polls).toBe(1);
  });
});
