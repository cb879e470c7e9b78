import { type Explanation, explainSignature, type SignedAttempt } from './explain-signature.js';

/** A delivery as a receiver has it: its body and secret may already carry the mistake. */
export type DeliveryAtHand = Omit<SignedAttempt, 'otherSecrets'>;

/**
 * Names the mistake by which a receiver refuses a delivery, where only the secret and the delivery are at hand.
 * @param sent `v0` of the delivery's header
 * @param computed the digest that the receiver computed; without it, the body and the secret at hand are what the
 * receiver used
 */
export function explainMismatch(delivery: DeliveryAtHand, sent: string, computed?: string): Explanation {
  const attempt = { ...delivery, otherSecrets: [] };
  const genuine = explainSignature(attempt, sent) === 'match';
  if (computed !== undefined) {
    const explanation = explainSignature(attempt, computed);
    // A right digest of a delivery that is not genuine here: the receiver has the same wrong secret or body.
    if (genuine || (explanation !== 'match' && explanation !== 'unknown')) return explanation;
  }
  for (const [mistake, undone] of Object.entries(UNDONE)) {
    if (!genuine && explainSignature({ ...attempt, ...undone(delivery) }, sent) === 'match') {
      return mistake as Explanation;
    }
  }
  return explainSignature(attempt, sent);
}

/** What a delivery at hand was before a mistake. `explainSignature` makes these mistakes and cannot undo them. */
const UNDONE = {
  body_with_newline: ({ body }) => ({ body: body.replace(/[\r\n]+$/, '') }),
  secret_with_newline: ({ secret }) => ({ secret: secret.replace(/[\r\n]+$/, '') }),
} satisfies Partial<Record<Explanation, (delivery: DeliveryAtHand) => Partial<DeliveryAtHand>>>;
