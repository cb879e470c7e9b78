import { Pause } from '../../src/workflow-starts/pause.js';

const HOUR = 3_600_000;

describe('Pause', () => {
  it('ends with the news it waits for, though there is time left', async () => {
    const pause = new Pause();
    const waiting = pause.untilNews(HOUR);
    pause.wake();
    await expect(waiting).resolves.toBeUndefined();
  });

  it('keeps no news that came while nobody waited, and cuts no full pause', async () => {
    const pause = new Pause();
    pause.wake();
    const begun = performance.now();
    await pause.untilNews(20);
    const full = pause.full(20);
    pause.wake();
    await full;
    expect(performance.now() - begun).toBeGreaterThan(35);
  });

  it('ends with the loop, and waits no more', async () => {
    const pause = new Pause();
    const waiting = pause.full(HOUR);
    pause.end();
    await waiting;
    await pause.full(HOUR);
    await expect(pause.untilNews(HOUR)).resolves.toBeUndefined();
  });
});
