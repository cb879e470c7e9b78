import { expect, it } from '@jest/globals';
import { EndpointHours, HOUR } from '../../src/endpoints/hours.js';
import { newId } from '../../src/platform/ids.js';
import { readAttemptSeries } from '../../src/reports/attempt-series.js';
import { openTestDatabase } from '../support/database.js';
import { outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

const db = await openTestDatabase();

const NOW = Date.UTC(2026, 10, 22, 6, 30);
const ago = (hours: number) => new Date(NOW - hours * HOUR);

it('adds up the hours of each step, in steps of UTC that end with the present one', async () => {
  const id = newId();
  const hours = new EndpointHours(db, silentLog);
  hours.count(id, outcome({ startedAt: ago(0), durationMs: 100 }));
  hours.count(id, { ...refusedBy(503), startedAt: ago(5), durationMs: 100 });
  hours.count(id, { ...refusedBy(401), startedAt: ago(100), durationMs: 100 });
  hours.count(id, outcome({ startedAt: ago(24 * 40) }));
  await hours.write();
  const day = await readAttemptSeries(db, id, '24h', NOW);
  expect([day.steps.length, day.steps.at(-1)]).toEqual([
    24,
    { start: new Date(NOW - (NOW % HOUR)), end: expect.any(Date), succeeded: 1, failed: 0, p50: 110, p95: 110 },
  ]);
  expect(day.causes).toEqual({ '503': 1 });
  const week = await readAttemptSeries(db, id, '7d', NOW);
  expect(week.steps.slice(-2)).toMatchObject([
    { start: new Date('2026-11-22T00:00:00Z'), failed: 1 },
    { start: new Date('2026-11-22T06:00:00Z'), succeeded: 1, failed: 0 },
  ]);
  const month = await readAttemptSeries(db, id, '30d', NOW);
  expect(month.steps.at(-1)).toMatchObject({ start: new Date('2026-11-22T00:00:00Z'), succeeded: 1, failed: 1 });
  expect(month.steps.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(1);
  expect(month.causes).toEqual({ '503': 1, '401': 1 });
});
