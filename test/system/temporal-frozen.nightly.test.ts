import { expect, test } from '@jest/globals';
import pg from 'pg';
import { haltTemporal } from '../support/halted-temporal.js';
import type { ServiceProcess } from '../support/service-process.js';

/** Lets a sleeping delivery be overdue for long enough that the watchdog queues it. */
async function oversleep({ sandbox }: ServiceProcess, { id }: { id: string }): Promise<void> {
  const client = new pg.Client({ connectionString: sandbox.database_url });
  await client.connect();
  const { rowCount } = await client
    .query(`update deliveries set next_attempt_at = now() - interval '3 minutes' where id = $1 and asleep`, [id])
    .finally(() => client.end());
  expect(rowCount).toBe(1);
}

test('while Temporal hangs, every attempt of the ladder, a manual retry and fresh events are made, and none twice', () =>
  haltTemporal('0s,1h,1h,1h,1h,1h', oversleep));
