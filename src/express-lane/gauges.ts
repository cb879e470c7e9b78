import type { Registry } from 'prom-client';
import { readingGauges } from '../telemetry/reading-gauges.js';

/** The work that a delivery engine holds in memory. */
export interface InHand {
  slots: { active: number; waiting: number };
  recorder: { waiting: number };
  shares: { workers: number };
}

/** Registers the gauges of the work that this process holds in memory. Only a process that delivers has them. */
export function measureInHand(registry: Registry, { slots, recorder, shares }: InHand): void {
  const gauge = readingGauges(registry);
  gauge('webhook_attempts_in_flight', 'Attempts under way in this process.', () => slots.active);
  gauge('webhook_first_attempts_waiting', 'First attempts that wait in memory for a slot.', () => slots.waiting);
  gauge(
    'webhook_workers',
    'Live workers, as this process counts them. They share the limits of endpoints.',
    () => shares.workers,
  );
  gauge(
    'webhook_records_waiting',
    'Attempts made that wait to be written. More than a few hundred mean that Postgres is slow.',
    () => recorder.waiting,
  );
}
