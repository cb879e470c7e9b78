import type { List } from '../list.js';
import { listOf } from '../list-of.js';
import type { Call, CallOptions, PostOptions, QueryOf } from '../operations.js';
import type { Attempt, Delivery, DeliveryWithAttempts, SignatureExplanation } from '../types.js';

/** The delivery of each event to each endpoint. */
export class Deliveries {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /** Lists the deliveries to all endpoints, newest first. Scope: `webhooks:read`. */
  list(filters?: QueryOf<'listDeliveries'>, options?: CallOptions): List<Delivery> {
    return listOf(this.#call, 'listDeliveries', { query: filters }, options);
  }

  /** Reads a delivery with its latest attempts. Scope: `webhooks:read`. */
  get(id: string, options?: CallOptions): Promise<DeliveryWithAttempts> {
    return this.#call('getDelivery', { path: { id } }, options);
  }

  /** Lists all attempts of a delivery, newest first. Scope: `webhooks:read`. */
  listAttempts(id: string, filters?: QueryOf<'listAttempts'>, options?: CallOptions): List<Attempt> {
    return listOf(this.#call, 'listAttempts', { path: { id }, query: filters }, options);
  }

  /** Attempts a delivery now, also one that has ended. Scope: `webhooks:write`. */
  retry(id: string, options?: PostOptions): Promise<Delivery> {
    return this.#call('retryDelivery', { path: { id } }, options);
  }

  /** Names the mistake that leads to the digest `v0`, which your receiver computed. Scope: `webhooks:write`. */
  explainSignature(
    id: string,
    number: number,
    computed: { v0: string },
    options?: PostOptions,
  ): Promise<SignatureExplanation> {
    return this.#call('explainSignature', { path: { id, number }, body: computed }, options);
  }
}
