import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { haltTemporal } from '../support/halted-temporal.js';

/** A delivery is overdue after 2 min, the watchdog looks each 15 s, and a busy machine takes a while. */
const LATEST = 120_000 + 15_000 + 10_000;

test('while Temporal hangs, retries are made, and two minutes late at most, but for the interval of the watchdog', async () => {
  const planned: { attempt: number; at: number }[] = [];
  const { attempts } = await haltTemporal('0s,2s,4s,8s,16s,32s', async (_, delivery) => {
    const at = Date.parse(delivery.next_attempt_at ?? '');
    planned.push({ attempt: delivery.attempt_count + 1, at });
    await sleep(Math.max(0, at + 100_000 - Date.now()));
  });
  const late = planned.map(({ attempt, at }) => Date.parse(attempts[attempt - 1]?.started_at ?? '') - at);
  process.stderr.write(`retries were late by ${late.map((ms) => `${(ms / 1_000).toFixed(1)} s`).join(', ')}\n`);
  expect(late).toHaveLength(5);
  for (const ms of late) {
    expect(ms).toBeGreaterThan(0);
    expect(ms).toBeLessThan(LATEST);
  }
}, 1_800_000);
