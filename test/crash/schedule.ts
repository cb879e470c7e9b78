import { pick } from '../support/random.js';
import { FAILPOINTS, type Failpoint } from './failpoints.js';

/** The processes that a kill hits. Only production's Temporal has its own Postgres. */
export type Target =
  | 'api'
  | 'worker'
  | 'api and worker'
  | 'all workers'
  | 'temporal'
  | 'postgres'
  | "Temporal's Postgres"
  | 'everything';

interface Planned {
  /** ms after the start of the load */
  at: number;
  /** ms until the killed process is started again */
  pause: number;
}

/** A kill at any moment. */
export interface Kill extends Planned {
  target: Target;
  /**
   * Only Postgres has further kinds of sudden end: its `immediate` stop, and the death of one of its backends, after
   * which it ends all others and recovers.
   */
  how: 'kill -9' | 'immediate stop' | 'kill -9 of a backend';
  /** Index of the process among the processes of a role. */
  which: number;
}

/** A kill between two steps: of the process of a role that passes the failpoint first. */
export interface FailpointKill extends Planned {
  failpoint: Failpoint;
}

const TARGETS = [
  ['failpoint', 19],
  ['api', 2],
  ['worker', 3],
  ['api and worker', 2],
  ['all workers', 2],
  ['temporal', 3],
  ['postgres', 4],
  ['everything', 1],
] as const;

const TEMPORALS_POSTGRES = ["Temporal's Postgres", 4] as const;

const targets = (hasTemporalsPostgres: boolean) => [...TARGETS, ...(hasTemporalsPostgres ? [TEMPORALS_POSTGRES] : [])];

/**
 * A schedule of `length` ms with a kill every `gap` ms on average, half of them at failpoints. Each failpoint comes once
 * before any comes again. The same random numbers give the same schedule.
 * @param hasTemporalsPostgres whether Temporal's Postgres is killed too
 */
export function planKills(
  random: () => number,
  length: number,
  gap: number,
  hasTemporalsPostgres: boolean,
): (Kill | FailpointKill)[] {
  const kills: (Kill | FailpointKill)[] = [];
  const next = failpointsInTurn(random);
  for (let at = gap * (0.25 + random() / 2); at < length; at += gap * (0.5 + random())) {
    kills.push(planKill(random, at, pick(random, targets(hasTemporalsPostgres)), next));
  }
  return kills;
}

/** A schedule of `everything` and two other targets, once each, in random order, with a kill every `gap` ms. */
export function planRound(random: () => number, gap: number, hasTemporalsPostgres: boolean): (Kill | FailpointKill)[] {
  const others = targets(hasTemporalsPostgres).flatMap(([target]) => (target === 'everything' ? [] : [target]));
  const order = [...shuffled(random, others).slice(0, 2), 'everything' as const];
  const next = failpointsInTurn(random);
  return shuffled(random, order).map((target, i) => planKill(random, (i + random()) * gap, target, next));
}

function failpointsInTurn(random: () => number): () => Failpoint {
  let left: Failpoint[] = [];
  return () => {
    if (left.length === 0) left = shuffled(random, Object.keys(FAILPOINTS) as Failpoint[]);
    return left.pop() as Failpoint;
  };
}

const shuffled = <T>(random: () => number, items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);

const HOW: { [T in Target]?: readonly (readonly [Kill['how'], number])[] } = {
  postgres: [
    ['immediate stop', 1],
    ['kill -9', 1],
  ],
  "Temporal's Postgres": [
    ['kill -9', 1],
    ['kill -9 of a backend', 1],
  ],
};

function planKill(
  random: () => number,
  time: number,
  target: Target | 'failpoint',
  nextFailpoint: () => Failpoint,
): Kill | FailpointKill {
  const planned = { at: Math.round(time), pause: pauseOf(random) };
  if (target === 'failpoint') return { ...planned, failpoint: nextFailpoint() };
  const how = pick<Kill['how']>(random, HOW[target] ?? [['kill -9', 1]]);
  return { ...planned, target, how, which: Math.floor(random() * 1_000) };
}

/** The pause is mostly short, and sometimes long enough for retries of retries. */
function pauseOf(random: () => number): number {
  return Math.round(random() < 0.8 ? 2_000 * random() : 2_000 + 4_000 * random());
}
