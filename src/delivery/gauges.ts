import type { Registry } from 'prom-client';
import { readingGauges } from '../telemetry/gauges.js';

/** The attempts that a process holds in memory. */
export interface InMemory {
  slots: { active: number; waiting: number };
  recorder: { waiting: number };
  workers: { count: number };
}

/** Registers the gauges of the attempts that this process holds in memory. Only a process that delivers has them. */
export function measureAttempts(registry: Registry, { slots, recorder, workers }: InMemory): void {
  const gauge = readingGauges(registry);
  gauge('webhook_attempts_in_flight', 'Attempts in flight in this process.', () => slots.active);
  gauge('webhook_first_attempts_waiting', 'Leased attempts that wait in memory for a slot.', () => slots.waiting);
  gauge(
    'webhook_workers',
    'Live workers, as this process counts them. They share the limits of endpoints.',
    () => workers.count,
  );
  gauge(
    'webhook_records_waiting',
    'Attempts made that wait to be written. More than a few hundred mean that Postgres is slow.',
    () => recorder.waiting,
  );
}
