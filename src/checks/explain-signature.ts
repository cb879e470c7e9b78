import { type DigestExplanation, explainDigest } from '../../clients/typescript/src/explain.js';
import { sign } from '../delivery/sender/headers.js';
import type { Handle } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import type { Attempt } from '../platform/database/generated/client.js';
import { Refusal } from '../platform/refusal.js';

export interface AttemptName {
  deliveryId: string;
  number: number;
}

/** Other endpoints whose secrets are tried: more than a client has by default. */
const MAX_OTHER_ENDPOINTS = 100;

/**
 * Explains why a receiver's digest of one attempt differs (contract, Why was my signature refused?). The digest is neither
 * kept nor logged.
 * @param clientId null: any client's, for the operator
 * @throws Refusal not_found | secret_erased
 */
export async function explainAttempt(
  db: Handle,
  masterKeys: MasterKeys,
  clientId: string | null,
  name: AttemptName,
  v0: string,
): Promise<DigestExplanation> {
  const { t, delivery } = await readWithRequest(db, clientId, name);
  const { endpoint, event, clientId: owner } = delivery;
  if (endpoint.secretEnvelope === null) {
    throw new Refusal('secret_erased', 'The webhook endpoint is deleted and its secret is erased.');
  }
  const others = await db.prisma.endpoint.findMany({
    where: { clientId: owner, id: { not: endpoint.id }, deletedAt: null, secretEnvelope: { not: null } },
    select: { id: true, secretEnvelope: true },
    orderBy: { id: 'desc' },
    take: MAX_OTHER_ENDPOINTS,
  });
  const open = (envelope: string, id: string) => masterKeys.open(envelope, id).reveal();
  const secret = open(endpoint.secretEnvelope, endpoint.id);
  const otherSecrets = others.flatMap(({ id, secretEnvelope }) => (secretEnvelope ? [open(secretEnvelope, id)] : []));
  return explainDigest({ t, body: event.body, secret, otherSecrets }, v0);
}

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
  name: AttemptName,
): Promise<SentAttempt> {
  const { delivery, ...attempt } = await readWithRequest(db, clientId, name);
  const { event, endpoint } = delivery;
  const secret = masterKeys && endpoint.secretEnvelope ? masterKeys.open(endpoint.secretEnvelope, endpoint.id) : null;
  const v0 = secret && sign({ secret, t: attempt.t, body: event.body });
  return { attempt, eventId: event.id, body: event.body, v0 };
}

async function readWithRequest(db: Handle, clientId: string | null, { deliveryId, number }: AttemptName) {
  const attempt = await db.prisma.attempt.findFirst({
    where: { deliveryId, number, ...(clientId !== null && { delivery: { clientId } }) },
    include: {
      delivery: {
        select: {
          clientId: true,
          event: { select: { id: true, body: true } },
          endpointId: true,
        },
      },
    },
  });
  if (!attempt) throw new Refusal('not_found', 'There is no such attempt.');
  const { delivery, ...rest } = attempt;
  const where = { id: delivery.endpointId };
  const endpoint = await db.prisma.endpoint.findUniqueOrThrow({ where, select: { id: true, secretEnvelope: true } });
  return { ...rest, delivery: { ...delivery, endpoint } };
}
