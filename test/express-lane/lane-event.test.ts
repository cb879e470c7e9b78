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

describe('LaneEvent', () => {
  it.each([
    ['every-event', 'trailing', 0],
    ['retries-only', 'done', undefined],
  ] as const)('with WORKFLOWS=%s moves to %s when every delivery succeeded', (workflows, outbox, attemptsLeft) => {
    const lane = open(workflows);
    lane.made(true);
    expect([lane.isOver, lane.settlement]).toEqual([false, undefined]);
    lane.made(true);
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
      lane.made(true);
      lane.made(false);
      lane.handOver();
      expect([lane.settlement, lane.attemptsLeft]).toEqual([{ eventId: 'e', outbox: 'start', held: true }, 2]);
    },
  );

  it('returns to the queue when one delivery was returned, whatever the outcome of the others', () => {
    const lane = open('every-event');
    lane.returnToQueue();
    lane.made(false);
    expect([lane.settlement, lane.attemptsLeft]).toEqual([{ eventId: 'e', outbox: 'attempt', held: false }, undefined]);
  });
});
