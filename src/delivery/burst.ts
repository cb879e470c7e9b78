import { performance } from 'node:perf_hooks';
import type { Slots } from './slots.js';

/** A burst makes more attempts wait for a slot than this; a steady load hardly ever does. */
const PILE = 20;
/** The least time over which rate and utilization are measured, ms. */
const WINDOW = 100;
/** First attempts a second. Temporal starts a fraction of them on the cores that make so many attempts. */
const RATE = 200;
/** Share of the window in which the event loop worked. Attempts and work that can wait compete above it. */
const SATURATED = 0.7;

/**
 * Watches whether first attempts need this process for themselves. Work that can wait gives way meanwhile: a workflow's
 * start costs 15 to 50 times the CPU of an attempt.
 *
 * Attempts pile up when the receiver or the slots are the limit. When the API is the limit, they come as fast as the
 * process makes them and none waits: then the event loop has no rest.
 * @param loopTimes ms of work and of idleness of the event loop since the process began
 * @returns whether there is a burst now
 */
export function watchBurst(
  counts: Pick<Slots<unknown>, 'waiting' | 'asked'>,
  loopTimes: () => { active: number; idle: number } = performance.eventLoopUtilization,
  begin = performance.now(),
): (now?: number) => boolean {
  let from = { at: begin, asked: counts.asked, ...loopTimes() };
  let isSaturated = false;
  return (now = performance.now()) => {
    if (now - from.at >= WINDOW) {
      const to = { at: now, asked: counts.asked, ...loopTimes() };
      const rate = ((to.asked - from.asked) / (to.at - from.at)) * 1_000;
      const active = to.active - from.active;
      isSaturated = rate >= RATE && active >= SATURATED * (active + to.idle - from.idle);
      from = to;
    }
    return isSaturated || counts.waiting > PILE;
  };
}
