import type { QueuedEvent } from '../../src/delivery/handover.js';
import type { Database } from '../../src/platform/database/database.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { makeClient, makeEndpoint, makeTransfer } from './factories.js';
import { LADDER } from './run-workflow.js';

/**
 * Commits an event with a delivery for each endpoint of the client, of which it makes `endpoints`. The attempts are free
 * in the queue, or leased to the process `token`, except those at the endpoints `full`.
 */
export async function commitEvent(
  db: Database,
  options: {
    clientId?: string;
    endpoints?: number;
    token?: string;
    full?: readonly string[];
    url?: string;
    retryDelays?: readonly number[];
  } = {},
): Promise<QueuedEvent> {
  const { endpoints = 1, token, full = [], url, retryDelays = LADDER } = options;
  const clientId = options.clientId ?? (await makeClient(db));
  for (let i = 0; i < endpoints; i++) await makeEndpoint(db, clientId, url ? { url } : {});
  const transfer = await makeTransfer(db, clientId);
  const events: QueuedEvent[] = [];
  const handover = {
    retryDelays,
    lease: () => (token ? { token, full } : null),
    committed: (event: QueuedEvent) => void events.push(event),
    queued: () => undefined,
  };
  await changeStatus(db, handover, { transferId: transfer.id, to: 'PROCESSING', reason: null });
  return events[0]!;
}

/** Commits so many events of one client with one endpoint, oldest first. */
export async function commitEvents(
  db: Database,
  count: number,
  options: Parameters<typeof commitEvent>[1] = {},
): Promise<QueuedEvent[]> {
  const events = [await commitEvent(db, options)];
  while (events.length < count) {
    events.push(await commitEvent(db, { ...options, clientId: events[0]!.clientId, endpoints: 0 }));
  }
  return events;
}
