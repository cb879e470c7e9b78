import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Recorder } from '../../src/delivery/record.js';
import type { SendOutcome } from '../../src/delivery/sender/send.js';
import { cancelPending, disableEndpoint } from '../../src/endpoints/disable.js';
import { enabledAt } from '../../src/endpoints/endpoints.js';
import { newId } from '../../src/platform/ids.js';
import { commitEvent, commitEvents } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { createTestDispatchers, isLeaseStatement, watchStatements } from '../support/dispatcher.js';
import { fakeSender, outcome, refusedBy } from '../support/factories.js';
import { heldSender } from '../support/held-receiver.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

const db = await openTestDatabase();
let dispatchers: ReturnType<typeof createTestDispatchers>;
beforeAll(async () => {
  dispatchers = createTestDispatchers(db);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await dispatchers.stop();
});

const leased = async () => (await dispatchers.readQueue()).filter(({ leaseToken }) => leaseToken !== null);
const free = async () => (await dispatchers.readQueue()).filter(({ leaseToken }) => leaseToken === null);
const rowOf = (deliveryId: string) => db.prisma.queuedAttempt.findUnique({ where: { deliveryId } });
/** Lets the time of this process run ahead by `ms`. */
function runAhead(ms: number): void {
  const clock = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => clock() + ms);
}
/** Waits until the loop has nothing to do. */
async function quiet(): Promise<void> {
  let before = '';
  await waitFor('no change of the queue', async () => {
    await sleep(60);
    const now = JSON.stringify(await dispatchers.readQueue());
    const isQuiet = now === before;
    before = now;
    return isQuiet;
  });
}

/** A sender whose requests get their responses from the test, in their order. */
function answeringSender() {
  const waiting: ((outcome: SendOutcome) => void)[] = [];
  const sender = fakeSender(() => new Promise((resolve) => waiting.push(resolve)));
  return { sender, respond: (response: SendOutcome) => waiting.shift()?.(response) };
}

/** An attempt in flight at an endpoint with one slot, and a second one that is leased and waits for it. */
async function oneWaits() {
  const { sender, release } = heldSender();
  const { commit, slots } = dispatchers.open(sender, { limits: { perEndpoint: 1 } });
  const first = await commit();
  await waitFor('the first attempt to be in flight', () => sender.sent.length === 1);
  const second = await commit({ clientId: first.clientId, endpoints: 0 });
  await waitFor('the lease of the second attempt', () => slots.waiting === 1);
  return { sender, release, endpointId: first.deliveries[0]!.endpointId, second };
}

describe('what a dispatcher leases', () => {
  it('is no more than its endpoint can make in about a second, so other workers get the rest', async () => {
    const { sender, release } = heldSender();
    const { dispatcher } = dispatchers.open(sender, { limits: { perEndpoint: 2 } });
    await commitEvents(db, 60);
    dispatcher.expectAny();
    await waitFor('the slots to be taken', () => sender.sent.length === 2);
    for (let i = 0; i < 5; i++) {
      dispatcher.expectAny();
      await quiet();
    }
    // Two in flight, and twice as many as the slots wait.
    expect(await leased()).toHaveLength(6);
    release();
    await waitFor('all attempts', () => sender.sent.length === 60);
  });

  it('is refilled from the queue once half of it is made', async () => {
    const { sender, release } = heldSender();
    const { dispatcher } = dispatchers.open(sender, { limits: { perEndpoint: 1 } });
    await commitEvents(db, 10);
    dispatcher.expectAny();
    await quiet();
    expect((await free()).length).toBeGreaterThan(0);
    release();
    await waitFor('all attempts', () => sender.sent.length === 10);
  });

  it('is nothing at an endpoint whose slots all belong to other workers: none is leased', async () => {
    let share = 0;
    const { db: watched, texts } = watchStatements(db);
    const sender = fakeSender();
    const workers = { count: 2, of: (_: string, max: number) => Math.min(max, share) };
    const { dispatcher, commit, slots } = dispatchers.open(sender, { db: watched, workers });
    const { clientId, deliveries } = await commit();
    await quiet();
    expect([slots.waiting, await leased()]).toEqual([0, []]);
    share = 1;
    dispatcher.expectAny();
    await waitFor('the first attempt', async () => (await dispatchers.readQueue()).length === 0);
    share = 0;
    await db.query('update webhook_endpoints set max_concurrency = 1 where id = $1::uuid', [deliveries[0]!.endpointId]);
    await commitEvents(db, 3, { clientId, endpoints: 0 });
    dispatcher.expectAny();
    await quiet();
    expect(await leased()).toEqual([]);
    const versions = () => db.query('select delivery_id, xmin::text, ctid::text from queue order by 1', []);
    const before = await versions();
    texts.length = 0;
    for (let i = 0; i < 5; i++) {
      dispatcher.expectAny();
      await quiet();
    }
    expect(await versions()).toEqual(before);
    expect(texts.filter((text) => text.includes('recursive heads'))).toHaveLength(5);
    expect(texts).toHaveLength(5);
    // The events of this process stay free too.
    await commit({ clientId, endpoints: 0 });
    await quiet();
    expect(await leased()).toEqual([]);
    share = 1;
    dispatcher.expectAny();
    await waitFor('the attempts', () => sender.sent.length === 5);
  });
});

describe('an attempt that waits', () => {
  it('is given back after 10 s, so that each has 20 s of its lease left when it starts', async () => {
    const { sender, release } = heldSender();
    const { db: watched, texts } = watchStatements(db);
    const { commit, dispatcher, slots } = dispatchers.open(sender, { db: watched, limits: { perEndpoint: 1 } });
    const first = await commit();
    const second = await commit({ clientId: first.clientId, endpoints: 0 });
    await waitFor('the first attempt', () => sender.sent.length === 1);
    const { deliveryId } = second.deliveries[0]!;
    const { dueAt } = (await rowOf(deliveryId))!;
    dispatcher.start();
    await waitFor('the lease', async () => slots.waiting === 1 && (await rowOf(deliveryId))?.leaseUntil);
    runAhead(10_000);
    await waitFor('the lease to be given back', () => texts.some((text) => text.includes('set lease_token = null')));
    release();
    await dispatchers.settled(second.eventId);
    expect((await rowOf(deliveryId)) ?? { dueAt }).toMatchObject({ dueAt });
    expect(sender.sent).toHaveLength(2);
  });

  it('is given back when its slot comes too late, and is leased again before it is made', async () => {
    const { db: watched, texts } = watchStatements(db);
    let leases: string[] = [];
    const { sender, release } = heldSender(1, () => {
      leases = texts.filter((text) => text.includes('set lease_token'));
      return outcome();
    });
    const { commit, slots } = dispatchers.open(sender, { db: watched, limits: { perEndpoint: 1 } });
    const first = await commit();
    await waitFor('the first attempt', () => sender.sent.length === 1);
    const second = await commit({ clientId: first.clientId, endpoints: 0 });
    await waitFor('the lease of the second attempt', () => slots.waiting === 1);
    texts.length = 0;
    runAhead(10_001);
    release();
    await dispatchers.settled(second.eventId);
    const [givesBack, ...later] = leases.map((text) => !isLeaseStatement(text));
    expect([givesBack, later.includes(false)]).toEqual([true, true]);
    expect(sender.sent).toHaveLength(2);
  });

  it('regression: is given back if its lease returns after the process has begun to stop', async () => {
    const { dispatcher } = dispatchers.open(fakeSender());
    const event = await commitEvent(db, { leaseTerms: () => dispatcher.leaseTerms() });
    expect(await dispatchers.readQueue()).toMatchObject([{ leaseToken: expect.any(String) }]);
    const stopped = dispatcher.stop();
    await dispatcher.committed(event);
    await stopped;
    await waitFor('the end of the lease', async () => (await dispatchers.readQueue())[0]?.leaseToken === null);
  });

  it('is given back in one statement with the others when the process stops', async () => {
    const { db: watched, texts } = watchStatements(db);
    const { sender, release } = heldSender();
    const { dispatcher, slots } = dispatchers.open(sender, { db: watched, limits: { perEndpoint: 10, total: 1 } });
    await commitEvents(db, 15);
    dispatcher.expectAny();
    await waitFor('the leases', () => sender.sent.length === 1 && slots.waiting === 14);
    const stopped = dispatcher.stop();
    release();
    await stopped;
    expect(texts.filter((text) => text.includes('set lease_token = null'))).toHaveLength(1);
  });

  // A receiver that hung, and whose owner gave another URL meanwhile, got the next attempts still.
  it('regression: goes to the URL that its owner has given while it waited', async () => {
    const { sender, release, endpointId, second } = await oneWaits();
    const url = 'https://elsewhere.test/hook';
    await db.prisma.endpoint.update({ where: { id: endpointId }, data: { url } });
    // An attempt of this moment is sent without another look.
    runAhead(60);
    release();
    const { deliveries } = await dispatchers.settled(second.eventId);
    expect(deliveries).toMatchObject([{ attempts: [{ url }] }]);
    expect(sender.sent[1]).toMatchObject({ url });
  });

  const disable = (id: string) => db.transaction((tx) => disableEndpoint(tx, id, 'owner'));
  it.each([
    ['disabled', disable],
    [
      'disabled and enabled again',
      async (id: string) => {
        await disable(id);
        await db.prisma.endpoint.update({ where: { id }, data: enabledAt(new Date()) });
      },
    ],
  ] as const)('is not made at an endpoint that is %s meanwhile, and its delivery is cancelled', async (_, change) => {
    const { sender, release, endpointId, second } = await oneWaits();
    await change(endpointId);
    // An attempt of this moment is sent without another look.
    runAhead(60);
    release();
    await waitFor('the attempt to be given back', async () =>
      (await dispatchers.readQueue()).every(({ leaseToken }) => leaseToken === null),
    );
    await db.transaction((tx) => cancelPending(tx, endpointId));
    const { deliveries, outbox } = await dispatchers.settled(second.eventId);
    expect(deliveries).toMatchObject([{ status: 'cancelled', attemptCount: 0 }]);
    expect(outbox).toBe('delivered');
    expect(sender.sent).toHaveLength(1);
  });

  it('is given back at an endpoint that became inactive meanwhile, until a batch of the cancellation ends it', async () => {
    const { sender, release, endpointId, second } = await oneWaits();
    const { deliveryId } = second.deliveries[0]!;
    await db.prisma.endpoint.update({ where: { id: endpointId }, data: { enabled: false, disabledReason: 'owner' } });
    runAhead(60);
    release();
    await waitFor('the end of the lease', async () => (await rowOf(deliveryId))?.leaseToken === null);
    await db.transaction((tx) => cancelPending(tx, endpointId));
    const { deliveries } = await dispatchers.settled(second.eventId);
    expect(deliveries).toMatchObject([{ status: 'cancelled', attemptCount: 0 }]);
    expect(sender.sent).toHaveLength(1);
  });
});

it('starts no attempt while 500 wait for their record, and continues after that', async () => {
  const token = newId();
  const recorder = new Recorder(db, { token, workflows: 'every-event' }, silentLog);
  const waiting = jest.spyOn(recorder, 'waiting', 'get').mockReturnValue(500);
  const sender = fakeSender();
  const { commit, dispatcher } = dispatchers.open(sender, { token, recorder });
  const { eventId } = await commit();
  dispatcher.pump();
  await new Promise(setImmediate);
  expect(sender.sent).toEqual([]);
  waiting.mockReturnValue(499);
  dispatcher.start();
  await dispatchers.settled(eventId);
  expect(sender.sent).toHaveLength(1);
});

it('regression: starts the next attempts as soon as the records have drained, without a tick', async () => {
  const token = newId();
  const recorder = new Recorder(db, { token, workflows: 'every-event' }, silentLog);
  const drained = Promise.withResolvers<void>();
  const { record } = recorder;
  jest.spyOn(recorder, 'record').mockImplementationOnce(async (made) => {
    await drained.promise;
    return record.call(recorder, made);
  });
  const waiting = jest.spyOn(recorder, 'waiting', 'get').mockReturnValue(0);
  const sender = fakeSender();
  const { commit, slots } = dispatchers.open(sender, { token, recorder });
  await commit();
  await waitFor('the first request', () => sender.sent.length === 1);
  waiting.mockReturnValue(500);
  const { eventId } = await commit();
  await waitFor('an attempt that waits', () => slots.waiting === 1);
  waiting.mockReturnValue(0);
  drained.resolve();
  await dispatchers.settled(eventId);
  expect(sender.sent).toHaveLength(2);
});

describe('the rate of an endpoint', () => {
  it('spaces the attempts of this process, which needs no statement to wait for it', async () => {
    const startedAt: number[] = [];
    const sender = fakeSender(() => {
      startedAt.push(performance.now());
      return outcome();
    });
    const { commit } = dispatchers.open(sender);
    const { clientId } = await commit();
    await db.query('update webhook_endpoints set max_per_second = 20 where client_id = $1::uuid', [clientId]);
    startedAt.length = 0;
    for (let i = 0; i < 12; i++) await commit({ clientId, endpoints: 0 });
    await waitFor('the attempts', () => startedAt.length >= 12);
    // A busy machine is slower, never faster.
    expect(startedAt.at(-1)! - startedAt.at(-12)!).toBeGreaterThan(11 * 50 - 100 - 5);
  });
});

describe('a receiver that asks for a pause', () => {
  const asks = { ...refusedBy(429), responseHeaders: { 'retry-after': '60' } };

  it('gets one attempt at once from then on', async () => {
    const { sender, respond } = answeringSender();
    const { commit, slots } = dispatchers.open(sender);
    const { clientId } = await commit();
    for (let i = 0; i < 3; i++) await commit({ clientId, endpoints: 0 });
    await waitFor('four requests', () => sender.sent.length === 4);
    respond(asks);
    for (let i = 0; i < 3; i++) respond(outcome());
    await waitFor('the next one, at once', () => sender.sent.length === 5);
    await commit({ clientId, endpoints: 0 });
    await quiet();
    expect([sender.sent.length, slots.active]).toEqual([5, 1]);
    respond(outcome());
    await waitFor('the last one', () => sender.sent.length === 6);
    respond(outcome());
  });

  it('is spared by a worker whose attempts wait, when another worker has the slot', async () => {
    const { sender, respond } = answeringSender();
    const workers = { count: 2, of: (_: string, max: number) => (max === 1 ? 0 : 1) };
    const { commit } = dispatchers.open(sender, { workers });
    const { clientId } = await commit();
    const { deliveries } = await commit({ clientId, endpoints: 0 });
    await waitFor('the first request', () => sender.sent.length === 1);
    await db.query(
      `update webhook_endpoints set slowed_until = now() + interval '1 minute' where client_id = $1::uuid`,
      [clientId],
    );
    // It has waited, so it looks again.
    await sleep(60);
    respond(outcome());
    await waitFor('the second to be given back', async () => {
      const row = await db.prisma.queuedAttempt.findUnique({ where: { deliveryId: deliveries[0]!.deliveryId } });
      return row?.leaseToken === null;
    });
    expect(sender.sent).toHaveLength(1);
  });
});
