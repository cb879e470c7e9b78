import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type pg from 'pg';
import type { Dispatcher } from '../../src/delivery/dispatcher.js';
import type { QueuedAt } from '../../src/delivery/handover.js';
import { Recorder, recordAttempts } from '../../src/delivery/record.js';
import { retryDelivery } from '../../src/delivery/retry.js';
import { NotSent } from '../../src/delivery/sender/attempt-error.js';
import { cancelPending } from '../../src/endpoints/disable.js';
import type { Handle } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import type { Log } from '../../src/platform/telemetry/log.js';
import { commitEvent, commitEvents } from '../support/committed-event.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { createTestDispatchers, isLeaseStatement, NO_WAKE_UPS, watchStatements } from '../support/dispatcher.js';
import { expireLeases } from '../support/expire-leases.js';
import { BY_OPERATOR as by, ENDPOINT_SECRET, fakeSender, outcome, refusedBy } from '../support/factories.js';
import { heldSender } from '../support/held-receiver.js';
import { madeAttempt } from '../support/made-attempt.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

const db = await openTestDatabase();
let dispatchers: ReturnType<typeof createTestDispatchers>;
let other: pg.Client;
beforeAll(async () => {
  dispatchers = createTestDispatchers(db);
  other = await db.openSession();
});
afterEach(() => dispatchers.stop());

const token = newId();
const rowOf = (deliveryId: string) => db.prisma.queuedAttempt.findUnique({ where: { deliveryId } });
const keysOf = ({ clientId, deliveries }: Awaited<ReturnType<typeof commitEvent>>) => {
  const { deliveryId, endpointId, maxConcurrency } = deliveries[0]!;
  return { clientId, deliveryId, endpointId, maxConcurrency };
};

const resultOf = async (job: ReturnType<Dispatcher['take']>) => (await job)?.ended.promise;
const isScan = (text: string) => text.includes('recursive heads');

describe('the first attempts of an event of this process', () => {
  it("are leased by the statement that queues them and made at once, signed with their endpoints' secrets", async () => {
    const { db: watched, texts } = watchStatements(db);
    const sender = fakeSender();
    const { commit } = dispatchers.open(sender, { db: watched });
    const event = await commit({ endpoints: 2 });
    const { outbox, deliveries } = await dispatchers.settled(event.eventId);
    expect(outbox).toBe('delivered');
    expect(deliveries.map(({ status, attempts }) => [status, attempts.length])).toEqual([
      ['succeeded', 1],
      ['succeeded', 1],
    ]);
    expect(sender.sent.map((sent) => [sent.body, 'secret' in sent && sent.secret.reveal()])).toEqual([
      [event.body, ENDPOINT_SECRET],
      [event.body, ENDPOINT_SECRET],
    ]);
    expect(texts.filter(isLeaseStatement)).toEqual([]);
  });

  it('are sent after what immediately follows the commit, such as the response to the change', async () => {
    const sender = fakeSender();
    const { commit } = dispatchers.open(sender);
    const event = await commit();
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    expect(sender.sent).toEqual([]);
    await dispatchers.settled(event.eventId);
    expect(sender.sent).toHaveLength(1);
  });
});

// At full speed in one process, changes were taken in faster than delivered: half a second from response to arrival.
it('a change that is made while many attempts wait is answered when its own attempts have started', async () => {
  const { sender, release } = heldSender();
  const { dispatcher, slots } = dispatchers.open(sender, { limits: { perEndpoint: 20 } });
  const [first] = await commitEvents(db, 60);
  dispatcher.expect(keysOf(first!));
  await waitFor('the attempts that wait', () => slots.waiting === 40);
  // A slow machine may take longer than the process waits.
  await waitFor('a change whose attempt has started', async () => {
    const event = await commitEvent(db, { leaseTerms: () => dispatcher.leaseTerms() });
    await dispatcher.committed(event);
    return sender.sent.at(-1)?.body === event.body;
  });
  release();
});

describe('an attempt that fails', () => {
  it('is followed at once by a rung of 0 s, even if the result of its record was lost', async () => {
    let records = 0;
    const flaky: TestDatabase = Object.create(db, {
      hot: {
        async value(text: string, values: unknown[]) {
          const rows = await db.hot(text, values);
          records++;
          if (records > 1) return rows;
          throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
        },
      },
    });
    const recorder = new Recorder(flaky, { token, workflows: 'every-event' }, silentLog);
    const { dispatcher, commit } = dispatchers.open(
      fakeSender((call) => (call === 1 ? refusedBy(503) : outcome())),
      {
        token,
        recorder,
      },
    );
    dispatcher.start();
    const begun = performance.now();
    const { eventId } = await commit();
    const { deliveries } = await dispatchers.settled(eventId);
    expect(deliveries).toMatchObject([{ status: 'succeeded', attempts: [{ number: 1 }, { number: 2 }] }]);
    // Before the lease has run out.
    expect(performance.now() - begun).toBeLessThan(28_000);
  });

  // A manual retry that took over the row of such an attempt waited until the new lease had ended, 30 s.
  it('regression: gives back what this process has leased again meanwhile, because its lease had ended', async () => {
    const { sender, release } = heldSender();
    const { dispatcher, commit } = dispatchers.open(sender, { retryDelays: [300_000] });
    const event = await commit();
    const { deliveryId } = keysOf(event);
    await waitFor('the first attempt', () => sender.sent.length === 1);
    await db.query('update queue set lease_token = null, lease_until = null where delivery_id = $1::uuid', [
      deliveryId,
    ]);
    await retryDelivery(db, { queued: () => undefined }, { by, clientId: null, deliveryId });
    dispatcher.expect(keysOf(event));
    await waitFor('the lease of the retry', async () => (await rowOf(deliveryId))?.leaseToken);
    release();
    await waitFor('the manual retry', () => sender.sent.length === 2);
    expect(await dispatchers.settled(event.eventId)).toMatchObject({
      deliveries: [{ attempts: [{ trigger: 'schedule' }, { trigger: 'manual' }] }],
    });
  });

  // The next attempt waited until the lease had ended, 30 s.
  it('regression: gives its lease back where another worker has recorded an attempt with its number', async () => {
    const held = Promise.withResolvers<void>();
    const sender = fakeSender(async (call) => {
      if (call === 1) await held.promise;
      return refusedBy(503);
    });
    const { commit } = dispatchers.open(sender, { retryDelays: [0, 300_000] });
    const event = await commit();
    await waitFor('the first attempt', () => sender.sent.length === 1);
    // The record of a worker whose lease had ended before.
    const late = madeAttempt(event, { outcome: refusedBy(500) });
    await recordAttempts(db, { token: newId(), workflows: 'every-event' }, [late]);
    held.resolve();
    await waitFor('the second attempt', () => sender.sent.length === 2);
    const { deliveries } = await dispatchers.settled(event.eventId);
    expect(deliveries).toMatchObject([{ attempts: [{ responseStatus: 500 }, { number: 2 }] }]);
  });

  // A worker with a wrong MASTER_KEY failed in microseconds, leased more and more, and held each attempt for 30 s.
  it('is reported and given back if its secret does not open, and the endpoint is left to other workers for a while', async () => {
    const reported: unknown[] = [];
    const log = Object.assign(Object.create(silentLog), {
      error: (fields: object) => void reported.push(fields),
    }) as Log;
    const [sender, handedOn, unreadable] = [fakeSender(), [] as QueuedAt[], jest.fn()];
    const wakeUps = { ...NO_WAKE_UPS, send: (at: readonly QueuedAt[]) => void handedOn.push(...at) };
    const { db: watched, texts } = watchStatements(db);
    const { dispatcher, slots } = dispatchers.open(sender, {
      db: watched,
      log,
      wakeUps,
      onUnreadableSecret: unreadable,
    });
    const events = await commitEvents(db, 60);
    const [{ clientId, endpointId }] = [keysOf(events[0]!)];
    const envelope = (await db.prisma.endpoint.findUniqueOrThrow({ where: { id: endpointId } })).secretEnvelope;
    const seal = (secretEnvelope: string | null) =>
      db.prisma.endpoint.update({ where: { id: endpointId }, data: { secretEnvelope } });
    await seal('v1:00000000:AAAA');
    dispatcher.expectAny();
    await waitFor('the leases to be given back', async () => {
      const rows = await dispatchers.readQueue();
      return reported.length > 0 && rows.length === 60 && rows.every(({ leaseToken }) => leaseToken === null);
    });
    // The slots of an attempt are released after its row.
    await waitFor('the slots to be released', () => slots.allowance(clientId, endpointId) === undefined);
    expect(reported.length).toBeLessThanOrEqual(30);
    expect(reported[0]).toMatchObject({ delivery_id: expect.any(String), err: expect.any(Error) });
    expect(unreadable).toHaveBeenCalled();
    expect(handedOn).toMatchObject(handedOn.map(() => ({ clientId, endpointId })));
    expect(sender.sent).toHaveLength(0);
    texts.length = 0;
    expect(await dispatcher.take(keysOf(events[1]!))).toBeUndefined();
    dispatcher.expectAny();
    await waitFor('the scan', () => texts.some(isScan));
    await sleep(100);
    expect(texts.filter(isLeaseStatement)).toEqual([]);
    expect((await dispatchers.readQueue()).every(({ leaseToken }) => leaseToken === null)).toBe(true);
    // Another worker has the right key.
    await seal(envelope);
    dispatchers.open(sender).dispatcher.expectAny();
    await waitFor('all attempts', () => sender.sent.length === 60);
  });

  it('regression: is given back, without a pause of its endpoint, if Postgres did not say whether it is due', async () => {
    const { sender, release } = heldSender();
    let reported = 0;
    const log = Object.assign(Object.create(silentLog), { warn: () => void reported++ }) as Log;
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    let isAway = false;
    // The look at the endpoint of an attempt that has waited.
    const away: TestDatabase = Object.assign(Object.create(db), {
      hot: (text: string, values: unknown[]) => (isAway ? Promise.reject(refused) : db.hot(text, values)),
    });
    const { commit, dispatcher } = dispatchers.open(sender, { db: away, log, limits: { perEndpoint: 1 } });
    const first = await commit();
    const second = await commit({ clientId: first.clientId, endpoints: 0 });
    const { deliveryId } = keysOf(second);
    await waitFor('the first attempt', () => sender.sent.length === 1);
    await waitFor('the second attempt to be leased', async () => (await rowOf(deliveryId))?.leaseToken);
    isAway = true;
    // Longer than an attempt may wait without that look.
    await sleep(100);
    release();
    await waitFor('the second attempt to fail', () => reported > 0);
    expect(dispatcher.avoids(keysOf(second))).toBe(false);
    // Its lease would last for 30 s, and no loop runs here that would end it.
    isAway = false;
    await waitFor('the second attempt', () => sender.sent.length === 2);
  });

  // A process without free file descriptors leased on and on, and kept each attempt from the other workers for 30 s.
  it('regression: is given back, with a pause of its endpoint, if this process could not send it', async () => {
    const full = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
    const { commit, dispatcher } = dispatchers.open(fakeSender(() => Promise.reject(new NotSent(full))));
    const event = await commit();
    await waitFor('the pause', () => dispatcher.avoids(keysOf(event)));
    // Well before the lease would end.
    await waitFor(
      'the lease to be given back',
      async () => (await rowOf(keysOf(event).deliveryId))?.leaseToken === null,
    );
  });
});

describe('an endpoint whose slots all belong to other workers', () => {
  const share = { count: 2, of: (_: string, max: number) => (max === 1 ? 0 : max) };

  /** A worker without a share of endpoints whose limit is 1, and the endpoints of which it notifies others. */
  function withoutShare(sender = fakeSender()) {
    const handedOn: QueuedAt[] = [];
    const wakeUps = { ...NO_WAKE_UPS, send: (at: readonly QueuedAt[]) => void handedOn.push(...at) };
    return { ...dispatchers.open(sender, { workers: share, wakeUps }), handedOn, sender };
  }
  async function limited() {
    const event = await commitEvent(db);
    const { clientId, endpointId } = keysOf(event);
    await db.prisma.endpoint.update({ where: { id: endpointId }, data: { maxConcurrency: 1 } });
    return { ...event, clientId, endpointId, keys: { ...keysOf(event), maxConcurrency: 1 } };
  }

  it('has its attempts handed on: one that is asked for by its id, and those of its own events', async () => {
    const { dispatcher, commit, handedOn, sender } = withoutShare();
    const { clientId, endpointId, keys } = await limited();
    const expected = { clientId, endpointId, maxConcurrency: 1 };
    expect(await dispatcher.take(keys)).toBeUndefined();
    expect(handedOn).toMatchObject([expected]);
    await commit({ clientId, endpoints: 0 });
    await waitFor('the attempt of its event to be handed on', () => handedOn.length >= 2);
    dispatcher.expectAny();
    await sleep(100);
    expect(handedOn).toMatchObject(handedOn.map(() => expected));
    expect((await dispatchers.readQueue()).map(({ leaseToken }) => leaseToken)).toEqual([null, null]);
    expect(sender.sent).toEqual([]);
  });
});

// While a large backlog was cancelled, the leases of all endpoints waited for each batch of it. A lock may be held for
// 20 s.
it('regression: attempts of an inactive endpoint that is locked hold up no other endpoint, and are cancelled', async () => {
  const sender = fakeSender();
  const { dispatcher } = dispatchers.open(sender);
  const [[stale], event] = [await commitEvents(db, 100), await commitEvent(db)];
  const { endpointId } = keysOf(stale!);
  await db.prisma.endpoint.update({ where: { id: endpointId }, data: { enabled: false, disabledReason: 'owner' } });
  await other.query('begin');
  await other.query('select from webhook_endpoints where id = $1::uuid for no key update', [endpointId]);
  dispatcher.expect(keysOf(stale!));
  dispatcher.start();
  await waitFor('the other attempt', () => sender.sent.length === 1);
  expect(await dispatchers.settled(event.eventId)).toMatchObject({ deliveries: [{ status: 'succeeded' }] });
  const left = await dispatchers.readQueue();
  expect(left.map((row) => [row.endpointId, row.leaseToken])).toEqual(left.map(() => [endpointId, null]));
  expect(left).toHaveLength(100);
  await other.query('rollback');
  const endpoint = () => db.prisma.endpoint.findUniqueOrThrow({ where: { id: endpointId } });
  await waitFor('the scan', async () => (await endpoint()).cancellingAfter !== null);
  await db.transaction((tx) => cancelPending(tx, endpointId));
  expect(await dispatchers.settled(stale!.eventId)).toMatchObject({ deliveries: [{ status: 'cancelled' }] });
  expect(await dispatchers.readQueue()).toEqual([]);
});

it('regression: a step of the scan that fails is reported', async () => {
  const errors: unknown[] = [];
  const log = Object.assign(Object.create(silentLog), { error: (line: object) => errors.push(line) }) as Log;
  let scans = 0;
  const failing: TestDatabase = Object.assign(Object.create(db), {
    query(text: string, values: unknown[]) {
      if (text.includes('recursive heads') && scans++ > 0) return Promise.reject(new Error('no rights'));
      return db.query(text, values);
    },
  });
  const waiting = async () => ({ queued: true, expired: false });
  dispatchers.open(fakeSender(), { db: failing, log, waiting }).dispatcher.start();
  await waitFor('the report', () => errors.length > 0);
});

describe('a queue of more lines than a scan looks at in one statement', () => {
  // Its scan never ended: every 20 ms a statement that leased nothing, and no refill of an endpoint meanwhile.
  it('costs a statement a second if no endpoint has room, and one that gets room is refilled in its turn', async () => {
    const { sender, release } = heldSender();
    const { db: watched, texts } = watchStatements(db);
    const { dispatcher, commit } = dispatchers.open(sender, { db: watched, limits: { perEndpoint: 1, perClient: 1 } });
    const first = await commit();
    await waitFor('an attempt in flight', () => sender.sent.length === 1);
    const { endpointId } = first.deliveries[0]!;
    await commitEvents(db, 4, { clientId: first.clientId, endpoints: 0 });
    await commitEvent(db, { clientId: first.clientId, endpoints: 500 });
    const workers = { count: 2, of: (id: string, max: number) => (id === endpointId ? max : 0) };
    const full = dispatchers.open(sender, { db: watched, workers, limits: { perEndpoint: 1 } });
    for (const each of [dispatcher, full.dispatcher]) each.start();
    await waitFor('the scans at the start', () => texts.filter(isScan).length >= 6);
    await sleep(1_000);
    texts.length = 0;
    const since = performance.now();
    await sleep(2_000);
    const seconds = Math.ceil((performance.now() - since) / 1_000);
    expect(texts.filter(isScan).length).toBeLessThanOrEqual(2 * (seconds + 1));
    const sent = sender.sent.length;
    release();
    await waitFor('the other attempts of the endpoint', () => sender.sent.length >= sent + 3);
  });
});

describe('attempts in the queue', () => {
  it('are named to the other workers at each poll, once they have waited', async () => {
    const [told, workers] = [[] as QueuedAt[], { count: 2, of: () => 0 }];
    const wakeUps = { ...NO_WAKE_UPS, send: (at: readonly QueuedAt[]) => void told.push(...at) };
    const { dispatcher } = dispatchers.open(fakeSender(), { wakeUps, workers });
    const [late, young] = [await commitEvent(db), await commitEvent(db)];
    await db.query(
      `update queue set due_at = now() + case when delivery_id = $1::uuid then interval '-2 s' else '1 h' end`,
      [keysOf(late).deliveryId],
    );
    dispatcher.start();
    await waitFor('a poll', () => told.length > 0);
    expect(told[0]).toMatchObject({ endpointId: keysOf(late).endpointId, maxConcurrency: null });
    expect(told.map(({ endpointId }) => endpointId)).not.toContain(keysOf(young).endpointId);
  });
});

describe('an attempt that is leased by id', () => {
  it('regression: is made though its lease has failed once, by the next lease of its endpoint', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    let isAway = true;
    const away: TestDatabase = Object.assign(Object.create(db), {
      hot: (text: string, values: unknown[]) => (isAway ? Promise.reject(refused) : db.hot(text, values)),
    });
    const sender = fakeSender();
    const { dispatcher } = dispatchers.open(sender, { db: away });
    const event = await commitEvent(db);
    await expect(dispatcher.take(keysOf(event))).rejects.toThrow('ECONNREFUSED');
    isAway = false;
    await dispatchers.settled(event.eventId);
    expect(sender.sent).toHaveLength(1);
  });

  it('has its result known to everyone who asks for it, as long as it is in flight', async () => {
    const { sender, release } = heldSender();
    const { dispatcher } = dispatchers.open(sender);
    const keys = keysOf(await commitEvent(db));
    const first = resultOf(dispatcher.take(keys));
    await waitFor('the attempt', () => sender.sent.length === 1);
    const second = resultOf(dispatcher.take(keys));
    release();
    expect(await first).toMatchObject({ recorded: { status: 'succeeded' } });
    expect(await second).toBe(await first);
    expect(sender.sent).toHaveLength(1);
  });
});

describe('a dispatcher that stops', () => {
  it('gives waiting attempts back to the queue, and finishes and records attempts in flight', async () => {
    const { sender, release } = heldSender();
    const limits = { perEndpoint: 1, perClient: 1, total: 1 };
    const { dispatcher, commit, slots } = dispatchers.open(sender, { limits });
    const [first, second] = [await commit(), await commit()];
    await waitFor('one attempt in flight and one that waits', () => sender.sent.length === 1 && slots.waiting === 1);
    expect(await rowOf(second.deliveries[0]!.deliveryId)).toMatchObject({ leaseUntil: expect.any(Date) });
    const stopped = dispatcher.stop();
    release();
    await stopped;
    expect(await dispatchers.readEvent(first.eventId)).toMatchObject({ deliveries: [{ status: 'succeeded' }] });
    expect(await rowOf(second.deliveries[0]!.deliveryId)).toMatchObject({ leaseToken: null, leaseUntil: null });
    expect(sender.sent).toHaveLength(1);
  });

  it('keeps the lease of an attempt that was made until it is recorded, so that no other worker repeats it', async () => {
    const sender = fakeSender();
    const { dispatcher } = dispatchers.open(sender);
    const ended = jest.fn();
    const event = await commitEvent(db, { token: newId() });
    await other.query('begin');
    await other.query('select from deliveries where event_id = $1::uuid for no key update', [event.eventId]);
    await expireLeases(db);
    expect(await dispatcher.take(keysOf(event))).toBeDefined();
    await waitFor('the attempt to be made', () => sender.sent.length === 1);
    const stopped = dispatcher.stop().then(ended);
    const later = fakeSender();
    const second = dispatchers.open(later).dispatcher;
    for (let i = 0; i < 10; i++) {
      second.expectAny();
      await second.take(keysOf(event));
    }
    expect([later.sent, ended.mock.calls]).toEqual([[], []]);
    await other.query('commit');
    await stopped;
    expect(await dispatchers.readEvent(event.eventId)).toMatchObject({
      deliveries: [{ status: 'succeeded', attemptCount: 1 }],
    });
  });
});

it('regression: leases of an endpoint that has attempts although every scan fails', async () => {
  const failing: Handle = Object.create(db, {
    query: {
      value: async (text: string, values: unknown[]) => {
        if (isScan(text)) throw new Error('canceling statement due to statement timeout');
        return db.query(text, values);
      },
    },
  });
  const sender = fakeSender();
  const { dispatcher } = dispatchers.open(sender, { db: failing });
  dispatcher.start();
  const { eventId, clientId, deliveries } = await commitEvent(db);
  dispatcher.expect({ clientId, endpointId: deliveries[0]!.endpointId, maxConcurrency: null });
  await dispatchers.settled(eventId);
  expect(sender.sent).toHaveLength(1);
});
