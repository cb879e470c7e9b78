import { type AppendedEvent, appendEvents, appendValues } from '../../src/delivery/append.js';
import { NOTHING_LEASED } from '../../src/delivery/handover.js';
import { NOW, newIdSql } from '../../src/platform/ids.js';
import { EVENT_TYPE } from '../../src/transfers/change-status.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint, makeTransfer } from '../support/factories.js';
import { outboxOf } from '../support/outbox.js';
import { LADDER } from '../support/run-workflow.js';

const db = await openTestDatabase();

/** A separate producer: it appends an event for each of these transfers without changing them. */
const PRODUCER = `
with noticed as (
  select ${newIdSql(NOW)} as event_id, t.client_id, t.id as transfer_id, ${NOW} as at,
         '"type":"notice"' as content, null::text as traceparent
    from transfers t where t.id = any($1::uuid[])
), ${appendEvents('noticed', ['$2', '$3', '$4', '$5'])}
select n.event_id as "eventId", n.transfer_id as "transferId", a.event
  from noticed n join appended a on a.event_id = n.event_id`;

interface Appended extends AppendedEvent {
  transferId: string;
}

async function append(transferIds: readonly string[]): Promise<Appended[]> {
  const appender = { retryDelays: LADDER, leaseTerms: () => NOTHING_LEASED };
  const rows = await db.query<{ transferId: string; event: AppendedEvent }>(PRODUCER, [
    transferIds,
    ...appendValues(EVENT_TYPE, appender),
  ]);
  return transferIds.map((id) => ({ transferId: id, ...rows.find(({ transferId }) => transferId === id)!.event }));
}

const eventOf = (id: string) => db.prisma.event.findUniqueOrThrow({ where: { id } });
const deliveriesOf = (eventId: string) => db.prisma.delivery.findMany({ where: { eventId }, orderBy: { id: 'asc' } });
const endpointsOf = (rows: readonly { endpointId: string }[]) => rows.map(({ endpointId }) => endpointId).sort();

describe("an event that a producer's own statement appends", () => {
  it('has a delivery for each enabled endpoint of its client, and none for a disabled, deleted or foreign one', async () => {
    const [clientId, stranger] = [await makeClient(db), await makeClient(db)];
    const enabled = [await makeEndpoint(db, clientId), await makeEndpoint(db, clientId)];
    await makeEndpoint(db, clientId, { enabled: false });
    const deleted = await makeEndpoint(db, clientId);
    await db.prisma.endpoint.update({ where: { id: deleted.id }, data: { deletedAt: new Date() } });
    await makeEndpoint(db, stranger);

    const [event] = await append([(await makeTransfer(db, clientId)).id]);
    const expected = enabled.map(({ id }) => id).sort();
    expect(endpointsOf(event!.deliveries)).toEqual(expected);
    expect(endpointsOf(await deliveriesOf(event!.eventId))).toEqual(expected);
    expect(JSON.stringify(event)).not.toContain('nvelope');
    const row = await eventOf(event!.eventId);
    expect(row).toMatchObject({ clientId, type: EVENT_TYPE });
    expect(await outboxOf(db, row.id)).toBeNull();
    const createdAt = row.createdAt.toISOString().slice(0, -1);
    expect(row.body).toBe(`{"id":"${row.id}","type":"notice","created_at":"${createdAt}"}`);
  });

  it('gets the endpoints of its own client when one statement appends the events of several clients', async () => {
    const clients = [await makeClient(db), await makeClient(db), await makeClient(db)];
    const [first, second] = [await makeEndpoint(db, clients[0]!), await makeEndpoint(db, clients[1]!)];
    const transfers = await Promise.all(clients.map(async (clientId) => (await makeTransfer(db, clientId)).id));
    const events = await append(transfers);
    expect(events.map(({ deliveries }) => endpointsOf(deliveries))).toEqual([[first.id], [second.id], []]);
    const states = await Promise.all(events.map(({ eventId }) => outboxOf(db, eventId)));
    expect(states).toEqual([null, null, 'delivered']);
  });
});
