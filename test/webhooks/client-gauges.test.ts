import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { measureClients, readClientResults } from '../../src/webhooks/client-gauges.js';
import { EndpointHours } from '../../src/webhooks/endpoint-hours.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint, outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

test('counts clients by whether any of their attempts succeeded in the last 15 minutes', async () => {
  const hours = new EndpointHours(db, silentLog);
  const clientWith = async (...attempts: ReturnType<typeof outcome>[]) => {
    const clientId = await makeClient(db);
    // Each attempt is at an endpoint of its own.
    for (const attempt of attempts) hours.count((await makeEndpoint(db, clientId)).id, attempt);
  };
  await clientWith(outcome());
  await clientWith(refusedBy(500), outcome());
  await clientWith(refusedBy(500), refusedBy(401));
  await clientWith(outcome({ error: 'dns', responseStatus: null }), outcome({ startedAt: minutesAgo(20) }));
  await clientWith(outcome({ startedAt: minutesAgo(40) }));
  await clientWith({ ...refusedBy(500), startedAt: minutesAgo(90) });
  await hours.write();
  expect(await readClientResults(db)).toEqual({ reached: 2, failing: 2 });
});

test('reports clients as unknown (NaN) while Postgres is unavailable', async () => {
  const registry = new Registry();
  measureClients(registry, () => Promise.reject(new Error('connect ECONNREFUSED')));
  const text = await registry.metrics();
  expect(text).toContain('webhook_clients{result="reached"} Nan\n');
  expect(text).toContain('webhook_clients{result="failing"} Nan\n');
});
