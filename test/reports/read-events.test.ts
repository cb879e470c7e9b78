import { newId } from '../../src/platform/ids.js';
import { getDeliveryWithAttempts } from '../../src/reports/read-deliveries.js';
import { readEventTimeline } from '../../src/reports/read-events.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint } from '../support/factories.js';

const db = await openTestDatabase();

async function makeDelivery(clientId: string, eventId: string, attempts: number) {
  const endpoint = await makeEndpoint(db, clientId);
  const id = newId();
  await db.prisma.delivery.create({
    data: { id, eventId, endpointId: endpoint.id, clientId, attemptCount: attempts, ladder: '0s' },
  });
  const startedAt = new Date('2026-11-22T06:00:00.123Z');
  const made = { deliveryId: id, trigger: 'schedule', url: endpoint.url, t: startedAt.toISOString(), startedAt };
  await db.prisma.attempt.createMany({
    data: Array.from({ length: attempts }, (_, index) => ({ ...made, number: index + 1, durationMs: 12 })),
  });
  return id;
}

async function makeEvent(clientId: string) {
  const id = newId();
  const event = { id, clientId, transferId: newId(), type: 'transfer.status_changed', body: '{"é": 1}' };
  await db.prisma.event.create({ data: { ...event, createdAt: new Date() } });
  return id;
}

it('reads the body as it is sent, and the latest twenty attempts of each delivery, oldest first', async () => {
  const clientId = await makeClient(db);
  const eventId = await makeEvent(clientId);
  const many = await makeDelivery(clientId, eventId, 23);
  const none = await makeDelivery(clientId, eventId, 0);
  const { event, deliveries } = await readEventTimeline(db, clientId, eventId, { take: 26 });
  expect(event.body).toBe('{"é": 1}');
  expect(deliveries.map(({ id }) => id)).toEqual([many, none]);
  expect(deliveries[0]?.attempts.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, i) => i + 4));
  expect(deliveries[0]?.attempts[0]?.startedAt).toEqual(new Date('2026-11-22T06:00:00.123Z'));
  expect(deliveries[1]?.attempts).toEqual([]);
});

it.each([
  [
    'timeline',
    async (clientId: string, eventId: string) =>
      (await readEventTimeline(db, clientId, eventId, { take: 26 })).deliveries[0]?.attempts,
  ],
  [
    'API response',
    async (clientId: string, _: string, id: string) => (await getDeliveryWithAttempts(db, clientId, id)).attempts,
  ],
])('the %s of a delivery has no attempt that was recorded after its row was read', async (_, read) => {
  const clientId = await makeClient(db);
  const eventId = await makeEvent(clientId);
  const id = await makeDelivery(clientId, eventId, 3);
  await db.prisma.delivery.update({ where: { id }, data: { attemptCount: 2 } });
  const attempts = await read(clientId, eventId, id);
  expect(attempts?.map(({ number }) => number)).toEqual([1, 2]);
});
