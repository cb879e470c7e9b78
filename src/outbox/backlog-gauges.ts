import { Gauge, type Registry } from 'prom-client';
import { readAtScrape } from '../telemetry/at-scrape.js';
import { readingGauges } from '../telemetry/reading-gauges.js';
import { type Backlog, COUNTED, OVERDUE_AFTER } from './backlog.js';

/**
 * Gauges of what waits in Postgres: of the whole environment, the same in every process that delivers. NaN while it cannot
 * be read. @param retention in ms
 */
export function measureBacklog(registry: Registry, readBacklog: () => Promise<Backlog>, retention: number): void {
  const read = readAtScrape(readBacklog);
  const gauge = readingGauges(registry);
  const from = (pick: (backlog: Backlog) => number) => async () => {
    const backlog = await read();
    return backlog ? pick(backlog) : Number.NaN;
  };
  const states = (name: string, help: string, pick: (backlog: Backlog) => Backlog['events']) => {
    new Gauge({
      name,
      help,
      labelNames: ['state'],
      registers: [registry],
      async collect() {
        for (const state of ['attempt', 'start'] as const) this.set({ state }, await from((b) => pick(b)[state])());
      },
    });
  };
  gauge('webhook_backlog_up', 'Whether Postgres told what waits: 0, and the gauges below are NaN.', async () =>
    (await read()) ? 1 : 0,
  );
  states(
    'webhook_outbox_events',
    `Events whose first attempts are not over (\`attempt\`), and those that wait for their workflow (\`start\`); counted up to ${COUNTED}.`,
    (backlog) => backlog.events,
  );
  states(
    'webhook_outbox_oldest_age_seconds',
    'Age of the oldest event in each of these states; 0: none.',
    (backlog) => backlog.oldestEventAge,
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
    'How long ago the attempt that is most overdue was due; 0: none is.',
    from(({ mostOverdue }) => mostOverdue),
  );
  gauge(
    'webhook_oldest_event_age_seconds',
    'Age of the oldest event that is kept.',
    from(({ oldestKeptAge }) => oldestKeptAge),
  );
  gauge(
    'webhook_retention_seconds',
    'The setting `RETENTION`: what is older is to be removed.',
    () => retention / 1_000,
  );
}
