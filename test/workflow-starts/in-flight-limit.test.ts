import { StartWindow } from '../../src/workflow-starts/in-flight-limit.js';

const open = (hasPlace = (_: string) => true) =>
  new StartWindow({ size: 40, forgotten: 10_000, hasPlace, crowded: 2_000 });

describe('StartWindow', () => {
  it('holds a client back while so many of its attempts have not come, and no other client', () => {
    const window = open();
    window.started('loud', 41, 0);
    expect([window.hasRoom('loud', 1, 1), window.hasRoom('quiet', 1, 1)]).toEqual([false, true]);
    expect(window.came('loud')).toBe(false);
    expect(window.hasRoom('loud', 1, 2)).toBe(false);
    expect(window.came('loud')).toBe(true);
    expect(window.hasRoom('loud', 1, 3)).toBe(true);
    expect(window.came('quiet')).toBe(false);
  });

  it('lets an event of more attempts than there is room for go when none waits, and not on top of others', () => {
    const window = open();
    expect(window.hasRoom('c', 60, 0)).toBe(true);
    window.started('c', 1, 0);
    expect([window.hasRoom('c', 39, 1), window.hasRoom('c', 40, 1)]).toEqual([true, false]);
  });

  it('forgets what never comes, whatever else does: it went to another worker, or was cancelled', () => {
    const window = open();
    window.started('c', 40, 0);
    window.came('c');
    window.started('c', 1, 9_000);
    expect([window.hasRoom('c', 1, 10_000), window.hasRoom('c', 1, 10_001)]).toEqual([false, true]);
    window.started('c', 39, 10_002);
    expect([window.hasRoom('c', 1, 10_003), window.hasRoom('c', 1, 19_001)]).toEqual([false, true]);
  });

  it('lets a client whose attempts would find no place start one each two seconds, and all as before when it has one', () => {
    let free = false;
    const window = open((clientId) => free || clientId !== 'slow');
    const rooms = (times: number[]) => times.map((now) => window.hasRoom('slow', 1, now));
    expect(rooms([0, 1, 1_999, 2_000, 2_001])).toEqual([true, false, false, true, false]);
    expect(window.hasRoom('other', 1, 2_001)).toBe(true);
    free = true;
    expect(rooms([2_002, 2_003])).toEqual([true, true]);
  });
});
