import { StartWindow } from '../../src/outbox/start-window.js';

describe('StartWindow', () => {
  it('holds a client back while so many of its attempts have not come, and no other client', () => {
    const window = new StartWindow(40, 10_000);
    window.started('loud', 60, 0);
    expect([window.hasRoom('loud', 1), window.hasRoom('quiet', 1)]).toEqual([false, true]);
    expect(window.came('loud', 20, 2)).toBe(false);
    expect(window.came('loud', 1, 3)).toBe(true);
    expect(window.hasRoom('loud', 4)).toBe(true);
    expect(window.came('quiet', 1, 5)).toBe(false);
  });

  it('holds nobody back for ever where the attempts come to another worker', () => {
    const window = new StartWindow(40, 10_000);
    window.started('c', 40, 0);
    expect([window.hasRoom('c', 10_000), window.hasRoom('c', 10_001)]).toEqual([false, true]);
    window.started('c', 40, 10_001);
    expect([window.hasRoom('c', 10_002), window.hasRoom('c', 20_002)]).toEqual([false, true]);
  });
});
