import type { LeasedAttempt } from '../../src/delivery/handover.js';
import { leaseById } from '../../src/delivery/lease.js';
import { type RecordedAttempt, recordAttempts } from '../../src/delivery/record.js';
import type { SendOutcome } from '../../src/delivery/sender/send.js';
import type { Handle } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import { outcome } from './factories.js';

/** Leases a queued attempt by id, as a dispatcher does. @throws if it is not free in the queue */
export async function lease(
  db: Handle,
  deliveryId: string,
  token = newId(),
): Promise<LeasedAttempt & { token: string }> {
  const [leased] = await leaseById(db, token, [deliveryId]);
  if (!leased) throw new Error('the attempt is not free in the queue');
  return { ...leased, token };
}

/** Records a leased attempt. */
export async function record(
  db: Handle,
  { token, ...attempt }: LeasedAttempt & { token: string },
  made: SendOutcome = outcome(),
): Promise<RecordedAttempt | undefined> {
  const [recorded] = await recordAttempts(db, { token, workflows: 'every-event' }, [{ attempt, outcome: made }]);
  return recorded;
}

/** Makes a queued attempt whose outcome is known: leases and records it. */
export const makeOne = async (db: Handle, deliveryId: string, made?: SendOutcome) =>
  record(db, await lease(db, deliveryId), made);
