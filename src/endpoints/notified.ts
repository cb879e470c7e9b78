import type { Registry } from 'prom-client';
import { type Handle, rowOf } from '../platform/database/database.js';
import { sharedGauges } from '../platform/telemetry/gauges.js';

const STATES = ['failing', 'disabled', 'ending'] as const;

/** Endpoints by what the operator was told about them, and what is still so. */
export type Notified = Record<(typeof STATES)[number], number>;

export const readNotified = (db: Handle): Promise<Notified> => rowOf<Notified>(db, NOTIFIED, []);

/** Registers the gauge behind the alerts about endpoints. It counts rows, so that it misses nothing in a restart. */
export function measureNotified(registry: Registry, read: () => Promise<Notified>): void {
  sharedGauges(registry, read).gaugeOfEach(
    'webhook_notified_endpoints',
    'Endpoints that notifications are about: `failing` or `disabled` since less than a day, or `ending` (the ladder of pending deliveries, within six hours).',
    ['state', STATES],
    (notified) => notified,
  );
}

/** Deleted endpoints are left out. The rows of `open` are few: an endpoint has one of a type an hour at most. */
const NOTIFIED = `
select count(distinct e.id) filter (where n.type = 'endpoint.failing' and e.enabled and n.created_at > now() - interval '1 day')::int as failing,
       count(distinct e.id) filter (where n.type = 'endpoint.disabled' and not e.enabled and n.created_at > now() - interval '1 day'
                                      and e.disabled_reason in ('gone', 'failing'))::int as disabled,
       (select count(distinct x.endpoint_id) from notifications x
         where x.type = 'deliveries.ending' and x.created_at > now() - interval '6 hours')::int as ending
  from notifications n join webhook_endpoints e on e.id = n.endpoint_id
 where n.open and e.deleted_at is null`;
