import { describe, expect, test } from '@jest/globals';
import { watchBurst } from '../../src/delivery/burst.js';

/** A process whose counts and times a test sets. */
function watched() {
  const counts = { waiting: 0, asked: 0 };
  const loop = { active: 0, idle: 0 };
  return {
    counts,
    isNow: watchBurst(counts, () => ({ ...loop }), 0),
    pass: (asked: number, active: number, idle: number) => {
      counts.asked += asked;
      loop.active += active;
      loop.idle += idle;
    },
  };
}

describe('a burst of first attempts', () => {
  test('is one while more than 20 attempts wait for a slot, at any time', () => {
    const process = watched();
    process.counts.waiting = 20;
    expect(process.isNow(1)).toBe(false);
    process.counts.waiting = 21;
    expect(process.isNow(2)).toBe(true);
    process.counts.waiting = 0;
    expect(process.isNow(3)).toBe(false);
  });

  test('is one if no attempt waits and 200 attempts a second keep the event loop busy', () => {
    const process = watched();
    process.pass(20, 70, 30);
    expect(process.isNow(100)).toBe(true);
    // The window since then is too short to say otherwise.
    process.pass(0, 0, 50);
    expect(process.isNow(150)).toBe(true);
    process.pass(0, 0, 50);
    expect(process.isNow(200)).toBe(false);
  });

  test('is none if the event loop is idle, or busy with other work than attempts', () => {
    const resting = watched();
    resting.pass(1_000, 690, 310);
    expect(resting.isNow(1_000)).toBe(false);
    const starting = watched();
    starting.pass(199, 1_000, 0);
    expect(starting.isNow(1_000)).toBe(false);
  });
});
