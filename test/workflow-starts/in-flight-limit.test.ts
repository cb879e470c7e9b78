import { InFlightLimit } from '../../src/workflow-starts/in-flight-limit.js';

const open = (hasSlot = (_: string) => true) =>
  new InFlightLimit({ size: 40, forgotten: 10_000, hasSlot, saturated: 2_000 });

describe('StartWindow', () => {
  it('holds a client back while so many of its attempts have not come, and no other client', () => {
    const window = open();
    window.started('loud', 41, 0);
    expect([window.admits('loud', 1, 1), window.admits('quiet', 1, 1)]).toEqual([false, true]);
    expect(window.arrived('loud')).toBe(false);
    expect(window.admits('loud', 1, 2)).toBe(false);
    expect(window.arrived('loud')).toBe(true);
    expect(window.admits('loud', 1, 3)).toBe(true);
    expect(window.arrived('quiet')).toBe(false);
  });

  it('lets an event of more attempts than there is room for go when none waits, and not on top of others', () => {
    const window = open();
    expect(window.admits('c', 60, 0)).toBe(true);
    window.started('c', 1, 0);
    expect([window.admits('c', 39, 1), window.admits('c', 40, 1)]).toEqual([true, false]);
  });

  it('forgets what never comes, whatever else does: it went to another worker, or was cancelled', () => {
    const window = open();
    window.started('c', 40, 0);
    window.arrived('c');
    window.started('c', 1, 9_000);
    expect([window.admits('c', 1, 10_000), window.admits('c', 1, 10_001)]).toEqual([false, true]);
    window.started('c', 39, 10_002);
    expect([window.admits('c', 1, 10_003), window.admits('c', 1, 19_001)]).toEqual([false, true]);
  });

  it('lets a client whose attempts would find no place start one each two seconds, and all as before when it has one', () => {
    let free = false;
    const window = open((clientId) => free || clientId !== 'slow');
    const rooms = (times: number[]) => times.map((now) => window.admits('slow', 1, now));
    expect(rooms([0, 1, 1_999, 2_000, 2_001])).toEqual([true, false, false, true, false]);
    expect(window.admits('other', 1, 2_001)).toBe(true);
    free = true;
    expect(rooms([2_002, 2_003])).toEqual([true, true]);
  });
});
