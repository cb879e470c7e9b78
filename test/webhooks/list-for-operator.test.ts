import { DeliveryStatus } from '../../src/database/generated/enums.js';
import { timeOf } from '../../src/ids.js';
import { listDeliveriesForOperator, type OperatorFilters } from '../../src/webhooks/list-for-operator.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

describe('listDeliveriesForOperator', () => {
  it('lists the newest first, with the same result as a scan of all rows, for every combination of filters', async () => {
    const statuses = Object.values(DeliveryStatus);
    const clients = [await makeClient(db), await makeClient(db), await makeClient(db)];
    for (let i = 0; i < 24; i++) {
      // A client gets endpoints over time, so that some endpoints have many deliveries and some have one.
      const { eventId } = await commitEvent(db, { clientId: clients[i % 3]!, endpoints: i % 4 === 0 ? 1 : 0 });
      await db.prisma.delivery.updateMany({ where: { eventId }, data: { status: statuses[i % 5] ?? 'pending' } });
    }
    const all = await db.prisma.delivery.findMany({ orderBy: { id: 'desc' } });
    const some = all[Math.floor(all.length / 2)]!;
    const pick = <T>(...values: T[]) => [undefined, ...values];
    let listed = 0;
    for (const take of [3, 1_000]) {
      for (const status of pick(...statuses)) {
        for (const clientId of pick(clients[0])) {
          for (const endpointId of pick(some.endpointId)) {
            for (const since of pick(timeOf(some.id))) {
              for (const eventIds of pick([some.eventId, all[0]!.eventId], [])) {
                const filters: OperatorFilters = { status, clientId, endpointId, since, eventIds, take };
                const expected = all.filter(
                  (one) =>
                    (status ?? one.status) === one.status &&
                    (clientId ?? one.clientId) === one.clientId &&
                    (endpointId ?? one.endpointId) === one.endpointId &&
                    timeOf(one.id) >= (since ?? 0) &&
                    (eventIds?.includes(one.eventId) ?? true),
                );
                const found = await listDeliveriesForOperator(db, filters);
                expect([filters, found.map(({ id }) => id)]).toEqual([
                  filters,
                  expected.slice(0, take).map(({ id }) => id),
                ]);
                listed += found.length;
              }
            }
          }
        }
      }
    }
    expect(listed).toBeGreaterThan(100);
  });
});
