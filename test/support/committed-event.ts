import { type LeasedAttempt, type LeaseTerms, NOTHING_LEASED, type QueuedEvent } from '../../src/delivery/handover.js';
import { leaseById } from '../../src/delivery/lease.js';
import type { Database, Handle } from '../../src/platform/database/database.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { makeClient, makeEndpoint, makeTransfer } from './factories.js';
import { LADDER } from './run-workflow.js';

/** A committed event, with what its attempts send. */
export interface CommittedEvent extends QueuedEvent, Pick<LeasedAttempt, 'body'> {
  deliveries: (QueuedEvent['deliveries'][number] & Pick<LeasedAttempt, 'url'>)[];
}

/** Reads what the attempts of an event send. */
export async function readCommitted(db: Handle, event: QueuedEvent): Promise<CommittedEvent> {
  const { eventId, deliveries } = event;
  const { body } = await db.prisma.event.findUniqueOrThrow({ where: { id: eventId } });
  const ids = deliveries.map(({ endpointId }) => endpointId);
  const endpoints = await db.prisma.endpoint.findMany({ where: { id: { in: ids } } });
  const urlOf = (id: string) => endpoints.find((endpoint) => endpoint.id === id)!.url;
  return { ...event, body, deliveries: deliveries.map((one) => ({ ...one, url: urlOf(one.endpointId) })) };
}

/**
 * Commits an event with a delivery for each endpoint of the client, of which it makes `endpoints`. The attempts are
 * free in the queue, or leased to the process `token`.
 */
export async function commitEvent(
  db: Database,
  options: {
    clientId?: string;
    endpoints?: number;
    token?: string;
    url?: string;
    retryDelays?: readonly number[];
    leaseTerms?: () => LeaseTerms;
  } = {},
): Promise<CommittedEvent> {
  const { endpoints = 1, token, url, retryDelays = LADDER, leaseTerms = () => NOTHING_LEASED } = options;
  const clientId = options.clientId ?? (await makeClient(db));
  for (let i = 0; i < endpoints; i++) await makeEndpoint(db, clientId, url ? { url } : {});
  const transfer = await makeTransfer(db, clientId);
  const events: QueuedEvent[] = [];
  const handover = {
    retryDelays,
    leaseTerms,
    committed: (event: QueuedEvent) => void events.push(event),
    queued: () => undefined,
  };
  await changeStatus(db, handover, { transferId: transfer.id, to: 'PROCESSING', reason: null });
  const event = events[0]!;
  const ids = event.deliveries.map(({ deliveryId }) => deliveryId);
  if (token) await leaseById(db, token, ids);
  return readCommitted(db, event);
}

/** Commits so many events of one client with one endpoint, oldest first. */
export async function commitEvents(
  db: Database,
  count: number,
  options: Parameters<typeof commitEvent>[1] = {},
): Promise<CommittedEvent[]> {
  const events = [await commitEvent(db, options)];
  while (events.length < count) {
    events.push(await commitEvent(db, { ...options, clientId: events[0]!.clientId, endpoints: 0 }));
  }
  return events;
}
