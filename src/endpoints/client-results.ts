import type { Registry } from 'prom-client';
import { type Handle, rowOf } from '../platform/database/database.js';
import { sharedGauges } from '../platform/telemetry/gauges.js';

/**
 * Clients by the result of their attempts in the last 15 minutes, over all workers: whether at least one succeeded, at
 * any endpoint.
 */
export type ClientResults = Record<'reached' | 'failing', number>;

/** Reads `endpoint_hours`, which has a row or two for each endpoint with an attempt in that time. */
export const readClientResults = (db: Handle): Promise<ClientResults> => rowOf<ClientResults>(db, RESULTS, []);

/**
 * Registers the gauge by which one broken receiver and a fault of the service can be told apart: a busy client with a
 * broken receiver is most of the failed attempts, and one client.
 */
export function measureClients(registry: Registry, readResults: () => Promise<ClientResults>): void {
  sharedGauges(registry, readResults).gaugeOfEach(
    'webhook_clients',
    'Clients with attempts in the last 15 minutes: `reached` (at least one succeeded) or `failing` (none did).',
    ['result', ['reached', 'failing']],
    (results) => results,
  );
}

const SINCE = `now() - interval '15 minutes'`;
const RESULTS = `
select count(*) filter (where succeeded)::int as reached, count(*) filter (where not succeeded)::int as failing
  from (select coalesce(bool_or(h.last_success_at > ${SINCE}), false) as succeeded
          from endpoint_hours h join webhook_endpoints e on e.id = h.endpoint_id
         where h.hour >= date_trunc('hour', ${SINCE}, 'UTC') and greatest(h.last_success_at, h.last_failure_at) > ${SINCE}
         group by e.client_id) clients`;
