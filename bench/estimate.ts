import type { Options, Scenario } from './options.js';

/** Approximate rate of two cores, events per second. */
const FIRST_ATTEMPTS = 800;
const WORKFLOWS = 40;
const FILLED = 8_000;
/** A stack and a warm service on it. */
const SITE_SECONDS = 20;
/** Two attempts at a receiver that hangs. */
const HANGS_SECONDS = 30;
/** Until the remaining workflows have ended. */
const DISCARD_SECONDS = 3;

/** Estimated time of a scenario on a machine with two cores, s, for the progress lines. */
export function estimateSeconds(scenario: Scenario, options: Options): number {
  const { modes, events, rounds, workflows, temporal, kept, starts } = options;
  const { rate, steady, past, tenants, resting, backlog, lasting, trail } = options;
  const burst = events / FIRST_ATTEMPTS;
  switch (scenario) {
    case 'throughput':
      return SITE_SECONDS + rounds * 4 * burst;
    case 'burst':
      // A third of the measurements follow an earlier burst.
      return 2 * SITE_SECONDS + rounds * (4 * burst + 3 * DISCARD_SECONDS);
    case 'workflows':
      return temporal.length * (SITE_SECONDS + (rounds * 2 * workflows) / WORKFLOWS);
    case 'roles':
      return 3 * SITE_SECONDS + rounds * 3 * burst;
    case 'latency':
      return 3 * SITE_SECONDS + rounds * 4 * (steady / rate + 2);
    case 'memory':
      return modes.length * (2 * SITE_SECONDS + kept / FIRST_ATTEMPTS);
    case 'commands':
      return SITE_SECONDS + starts;
    case 'growth':
      return 2 * SITE_SECONDS + (past[0] + past[1]) / FILLED + (rounds * (5 * events + tenants)) / FIRST_ATTEMPTS;
    case 'backlog':
      return SITE_SECONDS + backlog / FIRST_ATTEMPTS + backlog / WORKFLOWS;
    case 'overload':
      return 2 * SITE_SECONDS + lasting + trail;
    case 'scale':
      return 4 * SITE_SECONDS + (past[0] + past[1]) / FILLED + 2 * (resting + (5 * steady) / rate + HANGS_SECONDS);
  }
}
