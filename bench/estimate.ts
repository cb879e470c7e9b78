import type { Options, Scenario } from './options.js';
import { roundsOf } from './scenarios/throughput.js';

/** Approximate rate of two cores, events per second. */
const FIRST_ATTEMPTS = 800;
const WORKFLOWS = 40;
const FILLED = 8_000;
const STACK_SECONDS = 15;

/** Estimated time of a scenario on a machine with two cores, s, for the progress lines. */
export function estimateSeconds(scenario: Scenario, options: Options): number {
  const { modes, events, rounds, bare, rate, steady, sleeping, due, past, tenants, backlog } = options;
  const perRound = {
    'retries-only': { throughput: events / FIRST_ATTEMPTS, floor: events / FIRST_ATTEMPTS },
    'every-event': { throughput: events / FIRST_ATTEMPTS + events / WORKFLOWS, floor: bare / WORKFLOWS },
  };
  const full = (which: 'throughput' | 'floor') =>
    modes.reduce((sum, mode) => sum + roundsOf(mode, rounds) * perRound[mode][which], STACK_SECONDS);
  switch (scenario) {
    case 'throughput':
    case 'floor':
      return full(scenario);
    case 'latency':
      return STACK_SECONDS + modes.length * (steady / rate + 10);
    case 'sleeping':
      return STACK_SECONDS + (400 + sleeping + 2 * due) / WORKFLOWS + 60 + 70;
    case 'growth':
      return 2 * STACK_SECONDS + (past[0] + past[1]) / FILLED + (rounds * (5 * events + tenants)) / FIRST_ATTEMPTS;
    case 'backlog':
      return STACK_SECONDS + backlog / FIRST_ATTEMPTS + backlog / WORKFLOWS;
  }
}
