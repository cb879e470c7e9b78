import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { disableEndpoint } from '../../src/endpoints/disable.js';
import { updateEndpoint } from '../../src/endpoints/endpoints.js';
import { getDeliveryWithAttempts } from '../../src/reports/read-deliveries.js';
import type { CommittedEvent } from '../support/committed-event.js';
import { BY_OPERATOR as by, masterKeys, outcome, refusedBy } from '../support/factories.js';
import { startLadder, type TestLadder } from '../support/ladder.js';
import { pick, seededRandom } from '../support/random.js';
import { LADDER } from '../support/run-workflow.js';
import { waitFor } from '../support/wait-for.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let ladder: TestLadder;
beforeAll(async () => {
  ladder = await startLadder();
});
afterAll(() => ladder?.stop());
beforeEach(() => {
  ladder.receiver.receive = ladder.down;
});

/** Waits until a 410, which is recorded first, has disabled the event's endpoint. */
const untilGone = (event: CommittedEvent) =>
  waitFor('the endpoint to be disabled', async () => !(await ladder.endpointOf(event)).enabled);

/**
 * Expects these waits between the attempts, each with up to a minute for the workflow's tasks, which are not skipped. A
 * manual retry shortens the wait after it by the seconds before it.
 */
function expectWaits(event: CommittedEvent, waits: readonly number[]): void {
  const at = ladder.attemptsOf(event);
  const measured = at.slice(1).map((time, i) => time - at[i]!);
  expect(measured.map((wait, i) => wait >= waits[i]! - 10_000 && wait < waits[i]! + MINUTE)).toEqual(
    waits.map(() => true),
  );
}

/** A little more than a whole ladder. */
const A_LADDER = 33 * HOUR;

describe('a manual retry', () => {
  it('is one extra attempt, and keeps the planned times of the ladder that the delivery began with', async () => {
    const event = await ladder.fallAsleep();
    await ladder.retry(event);
    await ladder.untilAttempts(event, 3);
    await ladder.untilKnown(event);
    await ladder.env.sleep(A_LADDER);
    await ladder.untilEnded(event);
    expectWaits(event, [0, 0, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 24 * HOUR]);
    expect(await ladder.triggers(event)).toEqual(['schedule', 'schedule', 'manual', ...Array(5).fill('schedule')]);
    expect(await ladder.read(event)).toMatchObject({ status: 'failed', reason: 'exhausted', attemptCount: 8 });
  });

  it('adds no attempt and shortens no wait while an attempt is in flight', async () => {
    const event = await ladder.fallAsleep();
    const held = Promise.withResolvers<void>();
    ladder.receiver.receive = async (body) => {
      await ladder.note(body);
      await held.promise;
      return refusedBy(503);
    };
    await Promise.all([ladder.retry(event), ladder.retry(event)]);
    await waitFor('the attempt', () => ladder.attemptsOf(event).length === 3);
    await ladder.retry(event);
    ladder.receiver.receive = ladder.up;
    held.resolve();
    await ladder.untilAttempts(event, 3);
    await ladder.untilKnown(event);
    await ladder.env.sleep(HOUR);
    await ladder.untilEnded(event);
    expectWaits(event, [0, 0, 5 * MINUTE]);
    expect(await ladder.triggers(event)).toEqual(['schedule', 'schedule', 'manual', 'schedule']);
  });

  it.each([
    ['failed', refusedBy(410)],
    ['succeeded', outcome()],
  ] as const)(
    'keeps an ended delivery %s when it fails, and makes it succeeded when it succeeds',
    async (status, end) => {
      ladder.receiver.receive = () => end;
      const event = await ladder.begin();
      await ladder.untilAttempts(event, 1);
      await ladder.untilEnded(event);
      if (status === 'failed') await untilGone(event);
      await ladder.db.prisma.endpoint.updateMany({ where: { clientId: event.clientId }, data: { enabled: true } });
      const { reason, finishedAt } = await ladder.read(event);
      expect(await ladder.read(event)).toMatchObject({ status, attemptCount: 1 });

      ladder.receiver.receive = ladder.down;
      await ladder.retry(event);
      await ladder.untilAttempts(event, 2);
      await ladder.untilEnded(event);
      const unchanged = { status, reason, finishedAt, attemptCount: 2, nextAttemptAt: null };
      expect(await ladder.read(event)).toMatchObject(unchanged);

      ladder.receiver.receive = ladder.up;
      await ladder.retry(event);
      await ladder.untilAttempts(event, 3);
      await ladder.untilEnded(event);
      expect(await ladder.read(event)).toMatchObject({ status: 'succeeded', reason: null });
      const { searchAttributes } = await ladder.env.client.workflow.getHandle(event.eventId).describe();
      expect(searchAttributes).toMatchObject({ DeliveryState: ['delivered'] });
    },
  );
});

describe('an endpoint that is disabled in the middle of the ladder', () => {
  it('cancels its delivery at once when the owner disables it, and the workflow ends at its rung without an attempt', async () => {
    const event = await ladder.fallAsleep();
    await ladder.db.transaction((tx) => disableEndpoint(tx, event.deliveries[0]!.endpointId, 'owner'));
    const cancelled = { status: 'cancelled', reason: 'endpoint_disabled', nextAttemptAt: null, attemptCount: 2 };
    expect(await ladder.read(event)).toMatchObject(cancelled);
    await ladder.env.sleep(5 * MINUTE);
    await ladder.untilEnded(event);
    const result = await ladder.env.client.workflow.getHandle(event.eventId).result();
    expect(result).toMatchObject([{ status: 'cancelled', reason: 'endpoint_disabled' }]);
    expect(await ladder.read(event)).toMatchObject(cancelled);
    expect(ladder.attemptsOf(event)).toHaveLength(2);
  });

  it('fails the delivery that gets a 410, and cancels the others', async () => {
    const event = await ladder.fallAsleep();
    const other = await ladder.fallAsleep(event.clientId);
    ladder.receiver.receive = () => refusedBy(410);
    await ladder.retry(event);
    await ladder.untilAttempts(event, 3);
    await ladder.untilEnded(event);
    await untilGone(event);
    await ladder.env.sleep(5 * MINUTE);
    await ladder.untilEnded(other);
    expect(await ladder.read(event)).toMatchObject({ status: 'failed', reason: 'endpoint_gone', attemptCount: 3 });
    expect(await ladder.read(other)).toMatchObject({ status: 'cancelled', reason: 'endpoint_gone', attemptCount: 2 });
    expect(await ladder.endpointOf(event)).toMatchObject({ enabled: false, disabledReason: 'gone' });
  });
});

it('a recovery begins the ladder again from its start', async () => {
  const event = await ladder.fallAsleep();
  await ladder.env.sleep(A_LADDER);
  await ladder.untilEnded(event);
  await ladder.recover(event, LADDER);
  await ladder.untilAttempts(event, 9);
  await ladder.untilKnown(event);
  await ladder.env.sleep(A_LADDER);
  await ladder.untilEnded(event);
  expect(await ladder.read(event)).toMatchObject({ status: 'failed', reason: 'exhausted', attemptCount: 14 });
  expect(await ladder.triggers(event)).toEqual([...Array(7).fill('schedule'), ...Array(7).fill('recover')]);
  ladder.madeAt.set(event.eventId, ladder.attemptsOf(event).slice(7));
  expectWaits(event, LADDER);
});

describe('an endpoint with no success for 5 days', () => {
  it('is disabled when a second delivery is exhausted then, unless one succeeded; enabled again, it has 5 more days', async () => {
    const [first, lucky] = [await ladder.fallAsleep(), await ladder.fallAsleep()];
    await ladder.env.sleep(3 * DAY);
    expect([(await ladder.read(first)).status, (await ladder.endpointOf(first)).enabled]).toEqual(['failed', true]);
    ladder.receiver.receive = ladder.up;
    const good = await ladder.begin(lucky.clientId);
    await ladder.untilAttempts(good, 1);
    await ladder.untilEnded(good);
    ladder.receiver.receive = ladder.down;

    await ladder.env.sleep(DAY);
    const [second, luckySecond] = [await ladder.fallAsleep(first.clientId), await ladder.fallAsleep(lucky.clientId)];
    await ladder.env.sleep(DAY + HOUR);
    const third = await ladder.fallAsleep(first.clientId);
    await ladder.env.sleep(A_LADDER);
    for (const event of [second, luckySecond, third]) await ladder.untilEnded(event);
    expect(await ladder.read(second)).toMatchObject({ status: 'failed', reason: 'exhausted' });
    expect(await ladder.endpointOf(first)).toMatchObject({ enabled: false, disabledReason: 'failing' });
    // It was made an hour into day 5 and cancelled 7 h 35 min later, while it slept on its rung of 6 hours.
    expect(await ladder.read(third)).toMatchObject({
      status: 'cancelled',
      reason: 'endpoint_disabled',
      attemptCount: 5,
    });
    expect(await ladder.read(luckySecond)).toMatchObject({ status: 'failed', reason: 'exhausted' });
    expect(await ladder.endpointOf(lucky)).toMatchObject({ enabled: true });

    const { id, url } = await ladder.endpointOf(first);
    const rules = { httpsOnly: true, blocksLiteral: () => false, maxEndpoints: 20 };
    await ladder.follow();
    await updateEndpoint(ladder.db, rules, masterKeys, {
      by,
      clientId: first.clientId,
      id,
      url,
      description: null,
      enabled: true,
    });
    const again = [await ladder.fallAsleep(first.clientId), await ladder.fallAsleep(first.clientId)];
    await ladder.env.sleep(4 * DAY);
    for (const event of again) await ladder.untilEnded(event);
    expect(await ladder.endpointOf(first)).toMatchObject({ enabled: true, disabledReason: null });
    const last = await ladder.fallAsleep(first.clientId);
    await ladder.env.sleep(A_LADDER);
    await ladder.untilEnded(last);
    expect(await ladder.endpointOf(first)).toMatchObject({ enabled: false, disabledReason: 'failing' });
  });
});

const random = seededRandom('planned attempts');

/** Three to six retries. The delivery sleeps before attempts 3 and 4. */
function randomLadder(): number[] {
  const sleep = () => (10 + Math.floor(random() * 100)) * MINUTE;
  const rest = () =>
    pick(random, [
      [0, 1],
      [45 * MINUTE, 2],
      [30 * HOUR, 1],
    ]);
  return [0, sleep(), sleep(), ...Array.from({ length: Math.floor(random() * 4) }, rest)];
}

/** The planned attempts as [number, ms after the attempt before], read now. */
async function readPlan({ deliveries }: CommittedEvent): Promise<[number: number, wait: number][]> {
  await ladder.follow();
  const { attempts, planned } = await getDeliveryWithAttempts(ladder.db, null, deliveries[0]!.deliveryId);
  const last = attempts.at(-1);
  const times = [last?.startedAt, ...planned.map(({ at }) => at)].map((at) => at?.getTime() ?? 0);
  return planned.map(({ number, at }, i) => [number, at.getTime() - times[i]!]);
}

/** Expects the attempts after a plan was read: its waits, with up to a minute for the workflow's tasks. */
function expectPlanKept(event: CommittedEvent, plan: readonly [number, number][]): void {
  const at = ladder.attemptsOf(event);
  expect(plan.at(-1)?.[0]).toBe(at.length);
  for (const [number, wait] of plan.filter(([number]) => number > 1)) {
    const measured = at[number - 1]! - at[number - 2]!;
    expect([number, measured >= wait - MINUTE && measured < wait + MINUTE]).toEqual([number, true]);
  }
}

describe('planned attempts are what is made', () => {
  it.each([
    ['and no manual retry', false],
    ['and no manual retry', false],
    ['and a manual retry, which leaves their times as they were', true],
    ['and a manual retry, which leaves their times as they were', true],
  ])("on a random ladder of the delivery's own %s", async (_, manual) => {
    const own = randomLadder();
    const event = await ladder.fallAsleep(undefined, own);
    const before = await readPlan(event);
    expect(before.map(([number]) => number)).toEqual(own.slice(1).map((_, i) => i + 3));
    if (manual) {
      await ladder.retry(event);
      await ladder.untilAttempts(event, 3);
      await ladder.untilKnown(event);
    }
    const plan = await readPlan(event);
    expect(plan.map(([number]) => number)).toEqual(before.map(([number]) => number + (manual ? 1 : 0)));
    await ladder.env.sleep(own.reduce((sum, delay) => sum + delay, HOUR));
    await ladder.untilEnded(event);
    expect(ladder.attemptsOf(event)).toHaveLength(own.length + (manual ? 2 : 1));
    expectPlanKept(event, plan);
    expect(await readPlan(event)).toEqual([]);
  });

  it('after a recovery: the current ladder of the worker, from its start', async () => {
    const event = await ladder.fallAsleep(undefined, [0, 10 * MINUTE]);
    await ladder.env.sleep(HOUR);
    await ladder.untilEnded(event);
    await ladder.recover(event, LADDER);
    await ladder.untilAttempts(event, 5);
    await ladder.untilKnown(event);
    const plan = await readPlan(event);
    expect(plan.map(([number]) => number)).toEqual([6, 7, 8, 9, 10]);
    await ladder.env.sleep(LADDER.reduce((sum, delay) => sum + delay, HOUR));
    await ladder.untilEnded(event);
    expectPlanKept(event, plan);
  });
});
