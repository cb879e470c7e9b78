import type { Handle } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import { Refusal } from '../refusal.js';
import { type Explanation, explainSignature } from './explain-signature.js';

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
  { deliveryId, number }: AttemptName,
  v0: string,
): Promise<Explanation> {
  const attempt = await db.prisma.attempt.findFirst({
    where: { deliveryId, number, ...(clientId !== null && { delivery: { clientId } }) },
    select: { t: true, delivery: { select: { clientId: true, endpoint: true, event: { select: { body: true } } } } },
  });
  if (!attempt) throw new Refusal('not_found', 'There is no such attempt.');
  const { endpoint, event, clientId: owner } = attempt.delivery;
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
  return explainSignature(
    {
      t: attempt.t,
      body: event.body,
      secret: open(endpoint.secretEnvelope, endpoint.id),
      otherSecrets: others.flatMap(({ id, secretEnvelope }) => (secretEnvelope ? [open(secretEnvelope, id)] : [])),
    },
    v0,
  );
}
