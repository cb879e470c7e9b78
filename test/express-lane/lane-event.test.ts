import { describe, expect, it } from '@jest/globals';
import type { WorkflowMode } from '../../src/config.js';
import { LaneEvent } from '../../src/express-lane/lane-event.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';

const event = (deliveries: number, retries: number) => {
  const committed = {
    eventId: 'e',
    retries,
    deliveries: Array.from({ length: deliveries }, (_, i) => ({ deliveryId: `d${i}` })),
  };
  return committed as unknown as CommittedEvent;
};
const open = (workflows: WorkflowMode, deliveries = 2, retries = 0) =>
  new LaneEvent(event(deliveries, retries), 0, workflows);

const begin = (lane: LaneEvent, count = lane.jobs.length) => {
  const deliveries = lane.jobs.slice(0, count).map(({ delivery }) => delivery);
  for (const delivery of deliveries) lane.begin(delivery);
  return deliveries;
};

describe('LaneEvent', () => {
  it.each([
    ['every-event', 'trailing', 0],
    ['retries-only', 'done', undefined],
  ] as const)('with WORKFLOWS=%s moves to %s when every delivery succeeded', (workflows, outbox, attemptsLeft) => {
    const lane = open(workflows);
    const [first, second] = begin(lane);
    lane.made(first!, true);
    expect([lane.isOver, lane.settlement]).toEqual([false, undefined]);
    lane.made(second!, true);
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
      lane.made(first!, true);
      lane.made(second!, false);
      lane.handOver(third!);
      expect([lane.settlement, lane.attemptsLeft]).toEqual([{ eventId: 'e', outbox: 'start', held: true }, 2]);
    },
  );

  it.each(['every-event', 'retries-only'] as const)(
    'hands over an event with a retry that another worker left, although every first attempt succeeds, with WORKFLOWS=%s',
    (workflows) => {
      const lane = open(workflows, 1, 1);
      const [only] = begin(lane);
      lane.made(only!, true);
      expect([lane.settlement, lane.attemptsLeft]).toEqual([{ eventId: 'e', outbox: 'start', held: true }, 1]);
    },
  );

  it('returns to the queue when one delivery was returned, whatever the outcome of the others', () => {
    const lane = open('every-event');
    const [first] = begin(lane, 1);
    lane.returnToQueue();
    lane.made(first!, false);
    expect([lane.settlement, lane.attemptsLeft]).toEqual([{ eventId: 'e', outbox: 'attempt', held: false }, undefined]);
  });
});

describe('LaneEvent.isAllUnderWay', () => {
  it('is true while every open first attempt is under way', () => {
    const lane = open('every-event', 3);
    const [first, second, third] = begin(lane);
    lane.made(first!, false);
    expect([lane.isAllUnderWay, lane.underWay]).toEqual([true, ['d1', 'd2']]);
    lane.made(second!, true);
    expect([lane.isAllUnderWay, lane.underWay]).toEqual([true, ['d2']]);
    lane.made(third!, true);
    expect(lane.isAllUnderWay).toBe(false);
  });

  it.each([
    ['waits for its slot', () => {}],
    ['was returned to the queue', (lane: LaneEvent) => lane.returnToQueue()],
  ])('is false while a delivery %s', (_, happen) => {
    const lane = open('every-event', 3);
    const [first] = begin(lane, 2);
    lane.made(first!, false);
    happen(lane);
    expect(lane.isAllUnderWay).toBe(false);
  });
});

describe('LaneEvent.handOverAll', () => {
  it('gives the workflow the attempts that are under way, which settle nothing', () => {
    const lane = open('retries-only', 3);
    const [first, second, third] = begin(lane);
    lane.made(first!, false);
    expect(lane.handOverAll()).toEqual({ eventId: 'e', outbox: 'start', held: true });
    expect([lane.isOpen, lane.isAllUnderWay, lane.attemptsLeft]).toEqual([false, false, 3]);
    lane.made(second!, false);
    lane.made(third!, true);
    expect([lane.isOver, lane.settlement, lane.attemptsLeft]).toEqual([false, undefined, 3]);
  });
});
