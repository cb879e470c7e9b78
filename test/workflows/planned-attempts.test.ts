import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { getDeliveryWithAttempts } from '../../src/reports/read-deliveries.js';
import type { CommittedEvent } from '../support/committed-event.js';
import { startLadder, type TestLadder } from '../support/ladder.js';
import { pick, seededRandom } from '../support/random.js';
import { LADDER } from '../support/run-workflow.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const random = seededRandom('planned attempts');
let ladder: TestLadder;
beforeAll(async () => {
  ladder = await startLadder();
});
afterAll(() => ladder?.stop());
beforeEach(() => {
  ladder.receiver.receive = ladder.down;
});

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
