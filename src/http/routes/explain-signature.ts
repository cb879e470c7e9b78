import { z } from 'zod';
import { SharedLimit } from '../../database/shared-limit.js';
import { Refusal } from '../../refusal.js';
import { explainAttempt } from '../../webhooks/explain-attempt.js';
import { EXPLANATION_NAMES, EXPLANATIONS } from '../../webhooks/explain-signature.js';
import type { AppDependencies } from '../dependencies.js';
import { components } from '../openapi/components.js';
import { route } from '../route.js';
import { validationError } from '../schemas/text.js';

const MAX_LENGTH = 512;
const A_MINUTE = 30;

const computed = z
  .strictObject({
    v0: z
      .string()
      .refine(
        (text) => text.length <= MAX_LENGTH,
        validationError('too_long', `may have at most ${MAX_LENGTH} characters`),
      )
      .meta({
        description: 'The digest that your receiver computed, with or without `v0=` before it.',
        maxLength: MAX_LENGTH,
        examples: ['5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd'],
      }),
  })
  .register(components, { id: 'ComputedSignature' });

const explained = z
  .object({
    explanation: z.enum(EXPLANATION_NAMES).meta({ examples: ['reserialized_body'] }),
    detail: z.string().meta({ description: 'What to change.', examples: [EXPLANATIONS.reserialized_body] }),
  })
  .register(components, { id: 'SignatureExplanation' });

/** `/deliveries/{id}/attempts/{number}/explain-signature` (contract, Why was my signature refused?). */
export function explainSignatureRoute({ masterKeys, database }: AppDependencies) {
  const limit = new SharedLimit({ name: 'explanations', points: A_MINUTE, duration: 60 });
  return route({
    method: 'POST',
    path: '/deliveries/{id}/attempts/{number}/explain-signature',
    operationId: 'explainSignature',
    tag: 'Events and deliveries',
    summary: 'Explain why a signature was refused',
    description: `Tries the usual mistakes of receivers on this attempt and names the first that gives your digest. At most ${A_MINUTE} a minute.`,
    scope: 'webhooks:write',
    body: computed,
    response: { status: 200, description: 'The mistake, and what to change.', schema: explained },
    refusals: ['secret_erased'],
    async handle({ caller, params, body: { v0 }, db }) {
      const detail = `A client may ask for at most ${A_MINUTE} explanations a minute.`;
      const refusal = (retryAfter: number) => new Refusal('rate_limited', detail, [], { retryAfter });
      // Apart from the request's transaction, so that a refusal does not take the count back.
      await limit.consume(database, caller.clientId, refusal);
      const name = { deliveryId: params.id, number: Number(params.number) };
      const explanation = await explainAttempt(db, masterKeys, caller.clientId, name, v0);
      return { status: 200, body: { explanation, detail: EXPLANATIONS[explanation] } };
    },
  });
}
