import { type DigestExplanation, explainDigest } from '../../clients/typescript/src/explain.js';
import type { Handle } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { Refusal } from '../platform/refusal.js';

export interface AttemptName {
  deliveryId: string;
  number: number;
}

/** Other endpoints whose secrets are tried: more than a client has by default. */
const MAX_OTHER_ENDPOINTS = 100;

/**
 * Explains why a receiver's digest of one attempt differs. The digest is
 * neither kept nor logged.
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
  const { t, delivery } = await readAttempt(db, clientId, name);
  const { endpointId, event, clientId: owner } = delivery;
  const endpoint = await db.prisma.endpoint.findUniqueOrThrow({ where: { id: endpointId } });
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
  const standardId = endpoint.signatures.includes('standard') ? event.id : undefined;
  return explainDigest({ t, body: event.body, secret, standardId, otherSecrets }, v0);
}

/** Reads one attempt and the event that was sent. @throws Refusal not_found */
export async function readAttempt(db: Handle, clientId: string | null, { deliveryId, number }: AttemptName) {
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
  return attempt;
}
