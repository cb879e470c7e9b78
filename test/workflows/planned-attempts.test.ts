import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { getDeliveryWithAttempts } from '../../src/webhooks/read-deliveries.js';
import { createDeliveryActions } from '../../src/workflow-starts/retry-and-recover.js';
import { recoverNow, retryNow } from '../support/delivery-actions.js';
import { startLadder, type TestLadder } from '../support/ladder.js';
import { pick, seededRandom } from '../support/random.js';
import { LADDER } from '../support/run-workflow.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The ladder of the process that reads the delivery, which differs from the delivery's own. */
const PRESENT = [7 * HOUR];

const random = seededRandom('planned attempts');
let ladder: TestLadder;
beforeAll(async () => {
  ladder = await startLadder();
});
afterAll(() => ladder?.stop());
beforeEach(() => {
  ladder.receiver.receive = ladder.down;
});

const deliveryActions = () => createDeliveryActions(() => ladder.env.client, PRESENT);

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
  const { attempts, planned } = await getDeliveryWithAttempts(ladder.db, null, deliveries[0]!.deliveryId, PRESENT);
  const last = attempts.at(-1);
  const times = [last?.startedAt, ...planned.map(({ at }) => at)].map((at) => at?.getTime() ?? 0);
  return planned.map(({ number, at }, i) => [number, at.getTime() - times[i]!]);
}

/** Expects the attempts after a plan was read: its numbers and waits, with up to a minute for the workflow's tasks. */
function expectPlanKept(event: CommittedEvent, plan: readonly [number, number][]): void {
  const at = ladder.attemptsOf(event);
  expect(plan.at(-1)?.[0]).toBe(at.length);
  for (const [number, wait] of plan.filter(([number]) => number > 1)) {
    const measured = at[number - 1]! - at[number - 2]!;
    expect([number, measured >= wait - MINUTE && measured < wait + MINUTE]).toEqual([number, true]);
  }
}

describe('planned attempts are what the workflow does', () => {
  it.each([
    ['and no retry by hand', false],
    ['and no retry by hand', false],
    ['and a retry by hand, which uses up a rung', true],
    ['and a retry by hand, which uses up a rung', true],
  ])("on a random ladder of the delivery's own %s", async (_, byHand) => {
    const own = randomLadder();
    const event = await ladder.begin(undefined, own);
    const plans = [await readPlan(event)];
    await ladder.untilAttempts(event, 2);
    plans.push(await readPlan(event));
    if (byHand) {
      await retryNow(ladder.db, deliveryActions(), event.clientId, event.deliveries[0]!.deliveryId);
      await ladder.untilAttempts(event, 3);
      plans.splice(0, 2, await readPlan(event));
    }
    await ladder.env.sleep(own.reduce((sum, delay) => sum + delay, HOUR));
    await ladder.untilEnded(event.eventId);
    expect(ladder.attemptsOf(event)).toHaveLength(own.length + 1);
    for (const plan of plans) expectPlanKept(event, plan);
    expect(await readPlan(event)).toEqual([]);
  });

  it('after a recover: the present ladder of the worker, from its start', async () => {
    const event = await ladder.begin(undefined, [0, 10 * MINUTE]);
    await ladder.env.sleep(HOUR);
    await ladder.untilEnded(event.eventId);
    const { deliveryId, endpointId } = event.deliveries[0]!;
    await recoverNow(ladder.db, deliveryActions(), event.clientId, endpointId, { since: 0, until: Date.now() + HOUR });
    await ladder.untilAttempts(event, 5);
    const plan = await readPlan(event);
    expect(plan.map(([number]) => number)).toEqual([6, 7, 8, 9, 10]);
    await ladder.env.sleep(LADDER.reduce((sum, delay) => sum + delay, HOUR));
    await ladder.untilEnded(`recover-${deliveryId}-3`);
    expectPlanKept(event, plan);
  });
});
