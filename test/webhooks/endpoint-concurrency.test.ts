import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFirstAttempts } from '../../src/outbox/read-first-attempts.js';
import { EndpointLimits } from '../../src/webhooks/endpoint-concurrency.js';
import { setEndpointConcurrencyByOperator } from '../../src/webhooks/operate-endpoint.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { expireLeases } from '../support/expire-leases.js';
import { makeClient, makeEndpoint, OPERATOR } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('is read with a retry: the own limit of an endpoint, or that of the deployment', async () => {
  const clientId = await makeClient(db);
  const [own, common] = [await makeEndpoint(db, clientId), await makeEndpoint(db, clientId)];
  await setEndpointConcurrencyByOperator(db, OPERATOR, own.id, 3);
  const limits = new EndpointLimits(db, 10);
  expect([await limits.of(own.id), await limits.of(common.id)]).toEqual([3, 10]);
});

it('reaches the lane with the event, and with what the sweep reads', async () => {
  const event = await commitEvent(db);
  expect(event.deliveries[0]?.maxConcurrency).toBeNull();
  await setEndpointConcurrencyByOperator(db, OPERATOR, event.deliveries[0]!.endpointId, 7);
  const next = await commitEvent(db, { clientId: event.clientId, endpoints: 0 });
  expect(next.deliveries[0]?.maxConcurrency).toBe(7);
  await expireLeases(db);
  const [read] = await readFirstAttempts(db, [next]);
  expect(read?.deliveries[0]?.maxConcurrency).toBe(7);
});

it('is changed by the operator with an audit entry, once', async () => {
  const { id } = await makeEndpoint(db, await makeClient(db));
  for (const limit of [5, 5, null]) {
    expect(await setEndpointConcurrencyByOperator(db, OPERATOR, id, limit)).toMatchObject({ maxConcurrency: limit });
  }
  const entries = await db.prisma.auditEntry.findMany({ where: { target: id }, orderBy: { id: 'asc' } });
  expect(entries.map(({ action, details }) => [action, details])).toEqual([
    ['endpoints.set-concurrency', expect.objectContaining({ was: 'default', limit: 5 })],
    ['endpoints.set-concurrency', expect.objectContaining({ was: 5, limit: 'default' })],
  ]);
});
