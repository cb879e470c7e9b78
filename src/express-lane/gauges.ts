import type { Registry } from 'prom-client';
import { readingGauges } from '../telemetry/reading-gauges.js';

/** What an engine has in hand. */
export interface InHand {
  places: { active: number; waiting: number };
  recorder: { waiting: number };
}

/** Gauges of what this process has in hand; registered in a process that delivers. */
export function measureInHand(registry: Registry, { places, recorder }: InHand): void {
  const gauge = readingGauges(registry);
  gauge('webhook_attempts_in_flight', 'Attempts under way in this process.', () => places.active);
  gauge('webhook_first_attempts_waiting', 'First attempts that wait in memory for a place.', () => places.waiting);
  gauge(
    'webhook_records_waiting',
    'Attempts made that wait to be written: more than a few hundred, and Postgres is what is slow.',
    () => recorder.waiting,
  );
}
