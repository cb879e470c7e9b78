import type { Handle } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import type { Attempt } from '../database/generated/client.js';
import { Refusal } from '../refusal.js';
import type { AttemptName } from './explain-attempt.js';
import { sign } from './sender/signature.js';

/** An attempt with the request as it was sent. */
export interface SentAttempt {
  attempt: Attempt;
  eventId: string;
  /** The body's text. */
  body: string;
  /** The signature as sent, computed again from the secret; null: the secret is erased, or `masterKeys` is null. */
  v0: string | null;
}

/**
 * Reads one attempt and what was sent. The attempt's record holds no signature: the secret of an endpoint never changes,
 * so that the same bytes and `t` give it again.
 * @param masterKeys null: for a reader who may not see the signature
 * @throws Refusal not_found
 */
export async function readSentAttempt(
  db: Handle,
  masterKeys: MasterKeys | null,
  clientId: string,
  { deliveryId, number }: AttemptName,
): Promise<SentAttempt> {
  const row = await db.prisma.attempt.findFirst({
    where: { deliveryId, number, delivery: { clientId } },
    include: {
      delivery: {
        select: {
          event: { select: { id: true, body: true } },
          endpoint: { select: { id: true, secretEnvelope: true } },
        },
      },
    },
  });
  if (!row) throw new Refusal('not_found', 'There is no such attempt.');
  const { delivery, ...attempt } = row;
  const { event, endpoint } = delivery;
  const secret = masterKeys && endpoint.secretEnvelope ? masterKeys.open(endpoint.secretEnvelope, endpoint.id) : null;
  const v0 = secret && sign({ secret, t: attempt.t, body: event.body });
  return { attempt, eventId: event.id, body: event.body, v0 };
}
