import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { type Backlog, COUNTED, OVERDUE_AFTER } from '../outbox/backlog.js';
import { readAtScrape } from './at-scrape.js';

/** What an engine has in hand. */
export interface InHand {
  places: { active: number; waiting: number };
  recorder: { waiting: number };
}

/** Gauges of what this process has in hand; registered in a process that delivers. */
export function measureInHand(registry: Registry, { places, recorder }: InHand): void {
  const gauge = reading(registry);
  gauge('webhook_attempts_in_flight', 'Attempts under way in this process.', () => places.active);
  gauge('webhook_first_attempts_waiting', 'First attempts that wait in memory for a place.', () => places.waiting);
  gauge(
    'webhook_records_waiting',
    'Attempts made that wait to be written: more than a few hundred, and Postgres is what is slow.',
    () => recorder.waiting,
  );
}

/**
 * Gauges of what waits in Postgres: of the whole environment, the same in every process that delivers. NaN while it cannot
 * be read. @param retention in ms
 */
export function measureBacklog(registry: Registry, readBacklog: () => Promise<Backlog>, retention: number): void {
  const read = readAtScrape(readBacklog);
  const gauge = reading(registry);
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

/** Gauges that prom-client gives a counter's name, which promtool objects to. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Node's own metrics, and gauges of what the process depends on, as `/readyz` tells it. */
export function measureProcess(
  registry: Registry,
  readiness: () => Promise<{ checks: { postgres: string; migrations: string; temporal: string } }>,
): void {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const read = readAtScrape(readiness);
  new Gauge({
    name: 'dependency_up',
    help: 'Whether this process reaches `postgres` and `temporal`, and finds the `migrations` applied.',
    labelNames: ['dependency'],
    registers: [registry],
    async collect() {
      const checks = (await read())?.checks;
      this.set({ dependency: 'postgres' }, checks?.postgres === 'ok' ? 1 : 0);
      this.set({ dependency: 'migrations' }, checks?.migrations === 'applied' ? 1 : 0);
      this.set({ dependency: 'temporal' }, checks?.temporal === 'ok' ? 1 : 0);
    },
  });
}

/** A gauge that is read when it is scraped. */
function reading(registry: Registry) {
  return (name: string, help: string, read: () => number | Promise<number>): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  };
}
