import { Gauge, type Registry } from 'prom-client';
import { readAtScrape, readingGauges } from '../telemetry/gauges.js';
import { type Backlog, COUNTED, OVERDUE_AFTER, WAITING_STATES } from './backlog.js';

/**
 * Registers the gauges of the backlog in Postgres. They describe the whole environment and have the same value in every
 * process that delivers. They are NaN while the backlog cannot be read. @param retention in ms
 */
export function measureBacklog(registry: Registry, readBacklog: () => Promise<Backlog>, retention: number): void {
  const read = readAtScrape(readBacklog);
  const gauge = readingGauges(registry);
  const from = (pick: (backlog: Backlog) => number) => async () => {
    const backlog = await read();
    return backlog ? pick(backlog) : Number.NaN;
  };
  const states = (name: string, help: string, pick: (backlog: Backlog) => Backlog['waiting']) => {
    new Gauge({
      name,
      help,
      labelNames: ['state'],
      registers: [registry],
      async collect() {
        for (const state of WAITING_STATES) this.set({ state }, await from((b) => pick(b)[state])());
      },
    });
  };
  gauge(
    'webhook_backlog_up',
    'Whether the backlog could be read from Postgres. When 0, the gauges below are NaN.',
    async () => ((await read()) ? 1 : 0),
  );
  states(
    'webhook_outbox_events',
    `Attempts in the queue (\`attempt\`), and events that wait for their workflow: a row changed (\`again\`), a delivery sleeps or has failed (\`start\`), or all is delivered (\`trailing\`). Counted up to ${COUNTED}.`,
    (backlog) => backlog.waiting,
  );
  states(
    'webhook_outbox_oldest_age_seconds',
    'How long the oldest attempt has been due at an endpoint with none in flight, and age of the oldest event in each of these states; 0 when there is none.',
    (backlog) => backlog.oldestAge,
  );
  gauge(
    'webhook_deliveries_sleeping',
    `Deliveries that wait for their next attempt; counted up to ${COUNTED}.`,
    from(({ sleeping }) => sleeping),
  );
  gauge(
    'webhook_deliveries_overdue',
    `Deliveries whose next attempt was due more than ${OVERDUE_AFTER} s ago; counted up to ${COUNTED}.`,
    from(({ overdue }) => overdue),
  );
  gauge(
    'webhook_most_overdue_seconds',
    'How late the most overdue attempt is; 0 when none is overdue.',
    from(({ mostOverdue }) => mostOverdue),
  );
  gauge(
    'webhook_oldest_event_age_seconds',
    'Age of the oldest event that is kept.',
    from(({ oldestKeptAge }) => oldestKeptAge),
  );
  gauge('webhook_retention_seconds', 'The setting `RETENTION`: older events are removed.', () => retention / 1_000);
}
