import { pick } from '../support/random.js';

/** The target of a kill. */
export type Target = 'api' | 'worker' | 'api and worker' | 'all workers' | 'temporal' | 'postgres' | 'everything';

export interface Kill {
  /** ms after the start of the load */
  at: number;
  target: Target;
  /** Only Postgres has a second kind of sudden end, its `immediate` stop. */
  how: 'kill -9' | 'immediate stop';
  /** Index of the process among the processes of a role. */
  which: number;
  /** ms until the killed process is started again */
  pause: number;
}

const TARGETS = [
  ['api', 3],
  ['worker', 4],
  ['api and worker', 2],
  ['all workers', 2],
  ['temporal', 3],
  ['postgres', 4],
  ['everything', 1],
] as const;

/** A schedule of `length` ms with a kill every `gap` ms on average. The same random numbers give the same schedule. */
export function planKills(random: () => number, length: number, gap: number): Kill[] {
  const kills: Kill[] = [];
  for (let at = gap * (0.25 + random() / 2); at < length; at += gap * (0.5 + random())) {
    kills.push(planKill(random, at, pick(random, TARGETS)));
  }
  return kills;
}

/** A schedule with every target once, in random order, with a kill every `gap` ms. */
export function planRound(random: () => number, gap: number): Kill[] {
  const order = TARGETS.map(([target]) => ({ target, place: random() })).sort((a, b) => a.place - b.place);
  return order.map(({ target }, i) => planKill(random, (i + random()) * gap, target));
}

function planKill(random: () => number, at: number, target: Target): Kill {
  const how = target === 'postgres' && random() < 0.5 ? 'immediate stop' : 'kill -9';
  return { at: Math.round(at), target, how, which: Math.floor(random() * 1_000), pause: pauseOf(random) };
}

/** The pause is mostly short, and sometimes long enough for retries of retries. */
function pauseOf(random: () => number): number {
  return Math.round(random() < 0.8 ? 2_000 * random() : 2_000 + 4_000 * random());
}
