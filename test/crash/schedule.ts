import { pick } from '../support/random.js';

/** The target of a kill. Only production's Temporal has its own Postgres. */
export type Target =
  | 'api'
  | 'worker'
  | 'api and worker'
  | 'all workers'
  | 'temporal'
  | 'postgres'
  | "Temporal's Postgres"
  | 'everything';

export interface Kill {
  /** ms after the start of the load */
  at: number;
  target: Target;
  /**
   * Only Postgres has further kinds of sudden end: its `immediate` stop, and the death of one of its backends, after
   * which it ends all others and recovers. A role of the service may also die between two steps: at a failpoint.
   */
  how: 'kill -9' | 'immediate stop' | 'kill -9 of a backend' | Failpoint;
  /** Index of the process among the processes of a role. */
  which: number;
  /** ms until the killed process is started again */
  pause: number;
}

/** Those that the load makes the roles pass (src/platform/failpoints.ts). */
const FAILPOINTS = {
  api: ['before-commit', 'after-commit', 'after-retry-queued'],
  worker: [
    ...[
      'after-lease',
      'before-post',
      'after-post',
      'before-record',
      'after-record',
      'before-disable',
      'after-cancelled',
    ],
    ...['before-start', 'after-start', 'before-mark', 'after-mark', 'after-workflow-start', 'after-requeued'],
    ...['before-notified', 'after-notified', 'after-notification-sent'],
  ],
} as const;
type Failpoint = `failpoint ${(typeof FAILPOINTS)[keyof typeof FAILPOINTS][number]}`;
const atFailpoints = (role: keyof typeof FAILPOINTS) =>
  FAILPOINTS[role].map((name) => [`failpoint ${name}`, 1] as const);

const TARGETS = [
  ['api', 3],
  ['worker', 4],
  ['api and worker', 2],
  ['all workers', 2],
  ['temporal', 3],
  ['postgres', 4],
  ['everything', 1],
] as const;

const TEMPORALS_POSTGRES = ["Temporal's Postgres", 4] as const;

const targets = (hasTemporalsPostgres: boolean) => [...TARGETS, ...(hasTemporalsPostgres ? [TEMPORALS_POSTGRES] : [])];

/**
 * A schedule of `length` ms with a kill every `gap` ms on average. The same random numbers give the same schedule.
 * @param hasTemporalsPostgres whether Temporal's Postgres is killed too
 */
export function planKills(random: () => number, length: number, gap: number, hasTemporalsPostgres: boolean): Kill[] {
  const kills: Kill[] = [];
  for (let at = gap * (0.25 + random() / 2); at < length; at += gap * (0.5 + random())) {
    kills.push(planKill(random, at, pick(random, targets(hasTemporalsPostgres))));
  }
  return kills;
}

/** A schedule of `everything` and two other targets, once each, in random order, with a kill every `gap` ms. */
export function planRound(random: () => number, gap: number, hasTemporalsPostgres: boolean): Kill[] {
  const others = targets(hasTemporalsPostgres).flatMap(([target]) => (target === 'everything' ? [] : [target]));
  const order = [...shuffled(random, others).slice(0, 2), 'everything' as const];
  return shuffled(random, order).map((target, i) => planKill(random, (i + random()) * gap, target));
}

const shuffled = <T>(random: () => number, items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);

const HOW: { [T in Target]?: readonly (readonly [Kill['how'], number])[] } = {
  api: [['kill -9', 2], ...atFailpoints('api')],
  worker: [['kill -9', 8], ...atFailpoints('worker')],
  postgres: [
    ['immediate stop', 1],
    ['kill -9', 1],
  ],
  "Temporal's Postgres": [
    ['kill -9', 1],
    ['kill -9 of a backend', 1],
  ],
};

function planKill(random: () => number, at: number, target: Target): Kill {
  const how = pick<Kill['how']>(random, HOW[target] ?? [['kill -9', 1]]);
  return { at: Math.round(at), target, how, which: Math.floor(random() * 1_000), pause: pauseOf(random) };
}

/** The pause is mostly short, and sometimes long enough for retries of retries. */
function pauseOf(random: () => number): number {
  return Math.round(random() < 0.8 ? 2_000 * random() : 2_000 + 4_000 * random());
}
