import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setEndpointConcurrencyByOperator } from '../../src/endpoints/endpoints.js';
import { lease } from '../support/attempt.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint, OPERATOR } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('reaches the dispatcher with the event, and with the attempt that it leases', async () => {
  const event = await commitEvent(db);
  expect(event.deliveries[0]?.maxConcurrency).toBeNull();
  expect(await lease(db, event.deliveries[0]!.deliveryId)).toMatchObject({ maxConcurrency: null });
  await setEndpointConcurrencyByOperator(db, OPERATOR, event.deliveries[0]!.endpointId, 7);
  const next = await commitEvent(db, { clientId: event.clientId, endpoints: 0 });
  expect(next.deliveries[0]?.maxConcurrency).toBe(7);
  expect(await lease(db, next.deliveries[0]!.deliveryId)).toMatchObject({ maxConcurrency: 7 });
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
