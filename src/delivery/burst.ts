import { performance } from 'node:perf_hooks';

/** A burst makes more attempts wait for a slot than this; a steady load hardly ever does. */
const PILE = 20;
/** The least time over which rate and utilization are measured, ms. */
const WINDOW = 100;
/** First attempts a second. Temporal starts a fraction of them on the cores that make so many attempts. */
const RATE = 200;
/** Share of the window in which the event loop worked. Attempts and work that can wait compete above it. */
const SATURATED = 0.7;

/** What the slots count. */
export interface AttemptCounts {
  /** Attempts that wait for a slot now. */
  readonly waiting: number;
  /** Attempts that ever asked for a slot. */
  readonly asked: number;
}

/** ms of work and of idleness of the event loop since the process began. */
export type LoopTimes = () => { active: number; idle: number };

/**
 * Whether first attempts need this process for themselves. Work that can wait gives way meanwhile: a workflow's start
 * costs 15 to 50 times the CPU of an attempt.
 *
 * Attempts pile up when the receiver or the slots are the limit. When the API is the limit, they come as fast as the
 * process makes them and none waits: then the event loop has no rest.
 */
export class Burst {
  #from: { at: number; asked: number; active: number; idle: number };
  #isSaturated = false;

  constructor(
    private readonly counts: AttemptCounts,
    private readonly loopTimes: LoopTimes = performance.eventLoopUtilization,
    now = performance.now(),
  ) {
    this.#from = { at: now, asked: counts.asked, ...loopTimes() };
  }

  isNow(now = performance.now()): boolean {
    if (now - this.#from.at >= WINDOW) this.#measure(now);
    return this.#isSaturated || this.counts.waiting > PILE;
  }

  #measure(now: number): void {
    const from = this.#from;
    const to = { at: now, asked: this.counts.asked, ...this.loopTimes() };
    const rate = ((to.asked - from.asked) / (to.at - from.at)) * 1_000;
    const active = to.active - from.active;
    this.#isSaturated = rate >= RATE && active >= SATURATED * (active + to.idle - from.idle);
    this.#from = to;
  }
}
