import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { inTurn, progress } from '../in-turn.js';
import type { Figures, Site } from '../measure.js';
import { fillPast, settle } from '../past.js';
import { atLeast, atMost, type Outcome } from '../report.js';
import { column, ratios, tablesOf } from '../rounds.js';
import { makeWarmTenant, measureChanges, withService } from '../site.js';
import { startStack } from '../stack.js';
import { median } from '../statistics.js';
import { makeTenants, type Tenants } from '../tenants.js';

/** With so many endpoints, fewer events make the same work. */
const ENDPOINTS = 20;

interface Variant {
  what: string;
  site: Site;
  tenants: Tenants;
  events: number;
  rounds: Figures[];
}

/**
 * The rate of first attempts with few and many past events, endpoints and clients, in turn on two stacks.
 */
export async function growth(bench: Bench): Promise<Outcome> {
  const [few, many] = bench.options.past;
  const variants = await withPast(bench, few, (small, tenant) =>
    withPast(bench, many, (large, largeTenant) => measureAll(small, tenant, large, largeTenant)),
  );
  const [usual, grown] = variants.map(({ rounds }) => column(rounds, 'delivered/s'));
  const lost = variants.flatMap(({ rounds }) => column(rounds, 'lost')).reduce((sum, value) => sum + value, 0);
  return {
    sections: tablesOf(
      'Growth (retries-only)',
      variants.map(({ what, rounds }) => [what, rounds]),
    ),
    verdicts: [
      atLeast(`delivered/s, ${many} ÷ ${few} past events`, median(ratios(grown ?? [], usual ?? [])), 0.9),
      atMost('events lost in growth', lost, 0),
    ],
  };
}

function withPast<Result>(
  bench: Bench,
  past: number,
  work: (site: Site, tenant: Tenants) => Promise<Result>,
): Promise<Result> {
  return during(startStack(bench.say), (stack) =>
    withService(bench, stack, { workflows: 'retries-only' }, async (site) => {
      const tenant = await makeWarmTenant(site);
      await fillPast(stack, tenant, past, bench.say);
      await settle(stack);
      return work(site, tenant);
    }),
  );
}

async function measureAll(small: Site, tenant: Tenants, large: Site, largeTenant: Tenants): Promise<Variant[]> {
  const { bench, stack } = small;
  const { events, past, tenants, rounds } = bench.options;
  const { origin } = bench.receiver;
  const fanOut = await makeTenants(stack, origin, { clients: 1, endpointsEach: ENDPOINTS });
  const crowd = await makeTenants(stack, origin, { clients: tenants, endpointsEach: 1 });
  const variants: Variant[] = [
    { what: `${past[0]} past events, 1 client, 1 endpoint`, site: small, tenants: tenant, events, rounds: [] },
    { what: `${past[1]} past events`, site: large, tenants: largeTenant, events, rounds: [] },
    {
      what: `${ENDPOINTS} endpoints an event`,
      site: small,
      tenants: fanOut,
      events: Math.ceil(events / 10),
      rounds: [],
    },
    { what: `${tenants} clients`, site: small, tenants: crowd, events, rounds: [] },
  ];
  const found = await inTurn(
    rounds,
    progress(bench, 'growth'),
    Object.fromEntries(
      variants.map(({ what, site, tenants, events }) => [
        what,
        () => measureChanges({ ...site, tenant: tenants }, events),
      ]),
    ),
  );
  return variants.map((variant) => ({ ...variant, rounds: found[variant.what] ?? [] }));
}
