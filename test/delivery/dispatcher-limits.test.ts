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
});
