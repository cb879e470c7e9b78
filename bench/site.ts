import type { Bench } from './bench.js';
import { during } from './ending.js';
import { type Figures, type LoadPlan, measure, type Site } from './measure.js';
import { type ServiceOptions, startService } from './service.js';
import { type Stack, startStack } from './stack.js';
import { makeTenants, makeTransfers, type Tenants } from './tenants.js';
import { discardStarts } from './workflows.js';

/**
 * Events for each process of a role. A service as it runs by day: V8 has compiled what it does most. After 8,000 events
 * V8's compiler still takes 22 % of the process's CPU, after 30,000 3 %.
 */
export const WARM_UP = 15_000;
/** Those of them that also run a workflow, which takes seconds. */
const WARM_UP_WORKFLOWS = 300;

type Choice = Pick<ServiceOptions, 'workflows' | 'env'> & Partial<Pick<ServiceOptions, 'roles'>>;

/** A service on its own stack, with one client and one endpoint. */
export interface WarmSite extends Site {
  tenant: Tenants;
}

/** Runs `work` with the service of the options on a stack, and ends the service. */
export function withService<Result>(
  bench: Bench,
  stack: Stack,
  choice: Choice,
  work: (site: Site) => Promise<Result>,
): Promise<Result> {
  const starting = startService(stack, { roles: undefined, profile: bench.options.profile, ...choice });
  return during(starting, (service) => work({ bench, stack, service }));
}

/** One client with one endpoint, on a warm service. */
export async function makeWarmTenant(site: Site): Promise<Tenants> {
  const { bench, stack } = site;
  const tenant = await makeTenants(stack, bench.receiver.origin, { clients: 1, endpointsEach: 1 });
  const warm = { ...site, tenant };
  const { events } = bench.options;
  if (site.service.workflows === 'every-event') await measureChanges(warm, Math.min(WARM_UP_WORKFLOWS, events));
  const each = Math.min(WARM_UP, 3 * events);
  await measureChanges(warm, each * site.service.apis.length, { untilQuiet: false });
  await discardStarts(stack);
  return tenant;
}

/** Changes the status of `count` new transfers and follows the events. */
export async function measureChanges(site: WarmSite, count: number, plan: Partial<LoadPlan> = {}): Promise<Figures> {
  const transfers = await makeTransfers(site.stack, site.tenant, count);
  return measure(site, { transfers, endpointsEach: site.tenant.endpointsEach, ...plan });
}

/** Runs `work` with several warm services, each on its own stack, to measure them in turn. */
export function withWarmSites<Name extends string, Result>(
  bench: Bench,
  choices: Readonly<Record<Name, Choice>>,
  work: (sites: Record<Name, WarmSite>) => Promise<Result>,
): Promise<Result> {
  const open = (
    [next, ...rest]: readonly (readonly [string, Choice])[],
    sites: Record<string, WarmSite>,
  ): Promise<Result> => {
    if (!next) return work(sites);
    const [name, choice] = next;
    return during(startStack(bench.say), (stack) =>
      withService(bench, stack, choice, async (site) =>
        open(rest, { ...sites, [name]: { ...site, tenant: await makeWarmTenant(site) } }),
      ),
    );
  };
  return open(Object.entries<Choice>(choices), {});
}
