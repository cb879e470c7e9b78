import { Pause } from '../../src/workflow-starts/pause.js';

const HOUR = 3_600_000;

describe('Pause', () => {
  it('ends when it is woken, before its time has passed', async () => {
    const pause = new Pause();
    const waiting = pause.untilWoken(HOUR);
    pause.wake();
    await expect(waiting).resolves.toBeUndefined();
  });

  it('keeps no wake-up from before it began, and a full pause is not ended by a wake-up', async () => {
    const pause = new Pause();
    pause.wake();
    const begun = performance.now();
    await pause.untilWoken(20);
    const full = pause.full(20);
    pause.wake();
    await full;
    expect(performance.now() - begun).toBeGreaterThan(35);
  });

  it('ends at once after the loop has ended, and so does every later pause', async () => {
    const pause = new Pause();
    const waiting = pause.full(HOUR);
    pause.end();
    await waiting;
    await pause.full(HOUR);
    await expect(pause.untilWoken(HOUR)).resolves.toBeUndefined();
  });
});
