import { DeliveryStatus } from '../../src/platform/database/generated/enums.js';
import { timeOf } from '../../src/platform/ids.js';
import { listDeliveries } from '../../src/reports/read-deliveries.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';

const db = await openTestDatabase();

describe('listDeliveries', () => {
  it('lists the newest first, with the same result as a scan of all rows, for every combination of filters', async () => {
    const statuses = Object.values(DeliveryStatus);
    const clients = [await makeClient(db), await makeClient(db), await makeClient(db)];
    for (let i = 0; i < 24; i++) {
      // The client gets endpoints over time, so some have many deliveries and some have one.
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
            for (const [since, before] of [[], [timeOf(some.id)], [undefined, some.id]] as const) {
              for (const eventId of pick(some.eventId, all[0]!.eventId)) {
                const createdAfter = since === undefined ? undefined : since - 1;
                const filters = { status, endpointId, createdAfter, before, eventId, take };
                const expected = all.filter(
                  (one) =>
                    (status ?? one.status) === one.status &&
                    (clientId ?? one.clientId) === one.clientId &&
                    (endpointId ?? one.endpointId) === one.endpointId &&
                    timeOf(one.id) >= (since ?? 0) &&
                    one.id < (before ?? 'g') &&
                    (eventId ?? one.eventId) === one.eventId,
                );
                const found = await listDeliveries(db, clientId ?? null, filters);
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
