import { describe, expect, it } from '@jest/globals';
import type { LaneEvent } from '../../src/express-lane/lane-event.js';
import { isRetriedSoon, LateEvents } from '../../src/express-lane/late-events.js';
import { outcome, refusedBy } from '../support/factories.js';

const eventOf = (state: { isOpen: boolean; isAllUnderWay: boolean }) => state as LaneEvent;

describe('LateEvents', () => {
  it('gives an event half a second after its first failure, once', () => {
    const events = new LateEvents();
    const event = eventOf({ isOpen: true, isAllUnderWay: true });
    events.watch(event, 1_000);
    events.watch(event, 1_400);
    expect([events.take(1_499), events.take(1_500), events.take(1_501)]).toEqual([[], [event], []]);
  });

  it('waits for an attempt that has not begun', () => {
    const events = new LateEvents();
    const state = { isOpen: true, isAllUnderWay: false };
    const event = eventOf(state);
    events.watch(event, 1_000);
    expect(events.take(9_000)).toEqual([]);
    state.isAllUnderWay = true;
    expect(events.take(9_500)).toEqual([event]);
  });

  it('forgets an event whose first attempts are over', () => {
    const events = new LateEvents();
    const state = { isOpen: true, isAllUnderWay: false };
    events.watch(eventOf(state), 1_000);
    state.isOpen = false;
    expect(events.take(2_000)).toEqual([]);
    Object.assign(state, { isOpen: true, isAllUnderWay: true });
    expect(events.take(3_000)).toEqual([]);
  });
});

describe('isRetriedSoon', () => {
  it.each([
    ['a failure that is retried at once', refusedBy(503), 0, true],
    ['a failure that is retried in 5 minutes', refusedBy(503), 300_000, false],
    ['a failure that ends the ladder', refusedBy(503), null, false],
    ['a 410', refusedBy(410), 0, false],
    ['a success', outcome(), 0, false],
  ])('judges %s', (_, made, nextDelay, expected) => {
    expect(isRetriedSoon({ nextDelay }, made)).toBe(expected);
  });
});
