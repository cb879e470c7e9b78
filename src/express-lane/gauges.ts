import type { Registry } from 'prom-client';
import { readingGauges } from '../telemetry/reading-gauges.js';

/** What an engine has in hand. */
export interface InHand {
  slots: { active: number; waiting: number };
  recorder: { waiting: number };
}

/** Gauges of what this process has in hand; registered in a process that delivers. */
export function measureInHand(registry: Registry, { slots, recorder }: InHand): void {
  const gauge = readingGauges(registry);
  gauge('webhook_attempts_in_flight', 'Attempts under way in this process.', () => slots.active);
  gauge('webhook_first_attempts_waiting', 'First attempts that wait in memory for a place.', () => slots.waiting);
  gauge(
    'webhook_records_waiting',
    'Attempts made that wait to be written: more than a few hundred, and Postgres is what is slow.',
    () => recorder.waiting,
  );
}
