import { DeliveryStatus } from '../../src/platform/database/generated/enums.js';
import { newId, timeOf } from '../../src/platform/ids.js';
import { listDeliveries } from '../../src/reports/read-deliveries.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint } from '../support/factories.js';

const db = await openTestDatabase();

/** Makes an event at `minute` with one delivery for each endpoint. */
async function makeEvent(clientId: string, minute: number, endpoints: readonly string[], transferId = newId()) {
  const at = Date.UTC(2026, 10, 22, 6, minute);
  const id = newId(at);
  await db.prisma.event.create({
    data: { id, clientId, transferId, type: 'transfer.status_changed', body: '{}', createdAt: new Date(at) },
  });
  const made: string[] = [];
  for (const endpointId of endpoints) {
    const delivery = { id: newId(at), eventId: id, endpointId, clientId, status: 'failed' as const, ladder: '0s' };
    made.push((await db.prisma.delivery.create({ data: delivery })).id);
  }
  return made;
}

it("never lists another client's deliveries, whatever the filters name", async () => {
  const [clientId, stranger] = [await makeClient(db), await makeClient(db)];
  const endpointId = (await makeEndpoint(db, stranger)).id;
  const transferId = newId();
  await makeEvent(stranger, 1, [endpointId], transferId);
  for (const filters of [{}, { endpointId }, { transferId }, { status: 'failed' as const, endpointId }]) {
    expect(await listDeliveries(db, clientId, { take: 10, ...filters })).toEqual([]);
  }
});

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
