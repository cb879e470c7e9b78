import { parseArgs } from 'node:util';
import { WORKFLOW_MODES } from '../src/platform/config/config.js';
import type { ServiceOptions } from './service.js';

export const SCENARIOS = ['throughput', 'routes', 'roles', 'latency', 'scale'] as const;
export type Scenario = (typeof SCENARIOS)[number];

/** Not the one that lasts as long as all others. */
const BY_DEFAULT = SCENARIOS.filter((name) => name !== 'scale').join();

const OPTIONS = {
  only: { type: 'string', default: BY_DEFAULT, says: `which scenarios, of ${SCENARIOS.join()}` },
  mode: { type: 'string', default: 'retries-only', says: 'value of WORKFLOWS (scale)' },
  events: { type: 'string', default: '5000', says: 'changes of status in a round' },
  rounds: { type: 'string', default: '5', says: 'rounds, of which the medians are reported' },
  connections: { type: 'string', default: '32', says: 'kept connections of the load generator' },
  rate: { type: 'string', default: '20', says: 'changes a second (latency, scale)' },
  steady: { type: 'string', default: '200', says: 'changes at that rate' },
  past: {
    type: 'string',
    default: '10000,1000000',
    says: 'past events in the tables that are compared (scale)',
  },
  tenants: { type: 'string', default: '1000', says: 'clients, each with an endpoint (routes) or ten (scale)' },
  workers: { type: 'string', default: '20', says: 'workers, and a fifth as many APIs (scale)' },
  resting: { type: 'string', default: '30', says: 'duration without a change, s (scale)' },
  profile: { type: 'string', default: '', says: "folder for V8's CPU profiles of the service" },
  json: { type: 'string', default: '', says: 'file for the results' },
  help: { type: 'boolean', default: false, says: 'this' },
} as const;

export interface Options {
  only: ReadonlySet<Scenario>;
  mode: ServiceOptions['workflows'];
  events: number;
  rounds: number;
  connections: number;
  rate: number;
  steady: number;
  past: readonly [few: number, many: number];
  tenants: number;
  workers: number;
  resting: number;
  profile: string | undefined;
  json: string | undefined;
}

/** @returns the options, or what to print where they ask for help. @throws Error in one line for a wrong one */
export function readOptions(args: readonly string[]): Options | string {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.help) return help();
  const [few, many] = values.past.split(',').map((text) => count('past', text));
  if (few === undefined || many === undefined) throw new Error('--past: give two numbers, such as 10000,1000000');
  return {
    only: new Set(values.only.split(',').map((name) => oneOf('only', name, SCENARIOS))),
    mode: oneOf('mode', values.mode, WORKFLOW_MODES),
    events: count('events', values.events),
    rounds: count('rounds', values.rounds),
    connections: count('connections', values.connections),
    rate: count('rate', values.rate),
    steady: count('steady', values.steady),
    past: [few, many],
    tenants: count('tenants', values.tenants),
    workers: count('workers', values.workers),
    resting: count('resting', values.resting),
    profile: values.profile || undefined,
    json: values.json || undefined,
  };
}

function oneOf<Name extends string>(option: string, name: string, names: readonly Name[]): Name {
  const found = names.find((known) => known === name);
  if (found === undefined) throw new Error(`--${option}: ${name} is none of ${names.join(', ')}`);
  return found;
}

function count(option: string, text: string): number {
  if (!/^[1-9]\d{0,7}$/.test(text)) throw new Error(`--${option}: give a whole number from 1, not ${text}`);
  return Number(text);
}

function help(): string {
  const lines = Object.entries(OPTIONS).map(([name, { default: value, says }]) => {
    const given = value === false || value === '' ? '' : ` (${value})`;
    return `  --${name.padEnd(12)} ${says}${given}`;
  });
  return ['npm run bench -- [options]', ...lines].join('\n');
}
