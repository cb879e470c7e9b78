import { describe, expect, it } from '@jest/globals';
import type { WorkflowMode } from '../../src/config.js';
import { LaneEvent } from '../../src/express-lane/lane-event.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';

const event = (deliveries: number) => {
  const committed = {
    eventId: 'e',
    deliveries: Array.from({ length: deliveries }, (_, i) => ({ deliveryId: `d${i}` })),
  };
  return committed as unknown as CommittedEvent;
};
const open = (workflows: WorkflowMode, deliveries = 2) => new LaneEvent(event(deliveries), 0, workflows);

const begin = (lane: LaneEvent, count = lane.jobs.length) => {
  const deliveries = lane.jobs.slice(0, count).map(({ delivery }) => delivery);
  for (const delivery of deliveries) lane.begin(delivery);
  return deliveries;
};
const failedAt = 1_000;

describe('LaneEvent', () => {
  it.each([
    ['every-event', 'trailing', 0],
    ['retries-only', 'done', undefined],
  ] as const)('with WORKFLOWS=%s moves to %s when every delivery succeeded', (workflows, outbox, attemptsLeft) => {
    const lane = open(workflows);
    const [first, second] = begin(lane);
    lane.made(first!, true, 0);
    expect([lane.isOver, lane.settlement]).toEqual([false, undefined]);
    lane.made(second!, true, 0);
    expect([lane.isOver, lane.settlement, lane.attemptsLeft]).toEqual([
      true,
      { eventId: 'e', outbox, held: false },
      attemptsLeft,
    ]);
  });

  it.each(['every-event', 'retries-only'] as const)(
    'hands failed and handed-over deliveries to the workflow at once, with WORKFLOWS=%s',
    (workflows) => {
      const lane = open(workflows, 3);
      const [first, second, third] = begin(lane);
      lane.made(first!, true, 0);
      lane.made(second!, false, 0);
      lane.handOver(third!);
      expect([lane.settlement, lane.attemptsLeft]).toEqual([{ eventId: 'e', outbox: 'start', held: true }, 2]);
    },
  );

  it('returns to the queue when one delivery was returned, whatever the outcome of the others', () => {
    const lane = open('every-event');
    const [first] = begin(lane, 1);
    lane.returnToQueue();
    lane.made(first!, false, 0);
    expect([lane.settlement, lane.attemptsLeft]).toEqual([{ eventId: 'e', outbox: 'attempt', held: false }, undefined]);
  });
});

describe('a LaneEvent with a failed delivery', () => {
  it('is late when the other first attempts have been under way since then', () => {
    const lane = open('every-event', 3);
    const [first, second, third] = begin(lane);
    expect(lane.isLate(failedAt)).toBe(false);
    lane.made(first!, false, failedAt);
    expect([lane.isLate(failedAt - 1), lane.isLate(failedAt)]).toEqual([false, true]);
    lane.made(second!, true, failedAt + 100);
    expect(lane.isLate(failedAt)).toBe(true);
    lane.made(third!, true, failedAt + 100);
    expect(lane.isLate(failedAt)).toBe(false);
  });

  it.each([
    ['waits for its slot', () => {}],
    ['was returned to the queue', (lane: LaneEvent) => lane.returnToQueue()],
  ])('is not late while another delivery %s', (_, happen) => {
    const lane = open('every-event', 3);
    const [first] = begin(lane, 2);
    lane.made(first!, false, failedAt);
    happen(lane);
    expect(lane.isLate(failedAt)).toBe(false);
  });

  it('leaves for its workflow once, with the attempts that are under way', () => {
    const lane = open('retries-only', 3);
    const [first, second, third] = begin(lane);
    lane.made(first!, false, failedAt);
    const settlement = { eventId: 'e', outbox: 'start', held: true };
    expect(lane.leave()).toEqual({ settlement, underWay: ['d1', 'd2'] });
    expect([lane.isOpen, lane.isLate(failedAt), lane.attemptsLeft]).toEqual([false, false, 3]);
    lane.made(second!, false, failedAt);
    lane.made(third!, true, failedAt);
    expect([lane.isOver, lane.settlement, lane.attemptsLeft]).toEqual([false, undefined, 3]);
  });
});
