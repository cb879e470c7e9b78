import type { Bench } from './bench.js';
import { during } from './ending.js';
import { measure, type Site } from './measure.js';
import { type ServiceOptions, startService } from './service.js';
import type { Stack } from './stack.js';
import { makeTenants, makeTransfers, type Tenants } from './tenants.js';

/** A service as it runs by day: V8 has compiled what it does most, which takes it some thousand events. */
const WARM_UP = 2_000;

type Choice = Pick<ServiceOptions, 'workflows' | 'env'>;

/** Works with the service on a stack, as the options want it, and ends it after. */
export function withService<Result>(
  bench: Bench,
  stack: Stack,
  choice: Choice,
  work: (site: Site) => Promise<Result>,
): Promise<Result> {
  const { roles, profile } = bench.options;
  const starting = startService(stack, { roles, profile, ...choice });
  return during(starting, (service) => work({ bench, stack, service }));
}

/** One client with one endpoint, for whom the service has been warmed up. */
export async function makeWarmTenant(site: Site): Promise<Tenants> {
  const { bench, stack } = site;
  const tenant = await makeTenants(stack, bench.receiver.origin, { clients: 1, endpointsEach: 1 });
  const count = Math.min(WARM_UP, bench.options.events);
  await measure(site, { transfers: await makeTransfers(stack, tenant, count), endpointsEach: 1 });
  return tenant;
}
