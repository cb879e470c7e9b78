import type { Database } from '../../src/database/database.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { makeClient, makeEndpoint, makeTransfer } from './factories.js';
import { LADDER } from './run-workflow.js';

/** Commits an event with `endpoints` deliveries, leased to this process or free. */
export async function commitEvent(
  db: Database,
  options: {
    clientId?: string;
    endpoints?: number;
    leases?: boolean;
    url?: string;
    retryDelays?: readonly number[];
  } = {},
): Promise<CommittedEvent> {
  const { endpoints = 1, leases = true, url, retryDelays = LADDER } = options;
  const clientId = options.clientId ?? (await makeClient(db));
  for (let i = 0; i < endpoints; i++) await makeEndpoint(db, clientId, url ? { url } : {});
  const transfer = await makeTransfer(db, clientId);
  const events: CommittedEvent[] = [];
  const handover = { leases, retryDelays, committed: (event: CommittedEvent) => void events.push(event) };
  await changeStatus(db, handover, { transferId: transfer.id, to: 'PROCESSING', reason: null });
  return events[0]!;
}
