import type { List } from '../list.js';
import { listOf } from '../list-of.js';
import type { Call, CallOptions, QueryOf } from '../operations.js';
import type { Delivery, Event } from '../types.js';

/** The events of your transfers. */
export class Events {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /** Lists events, newest first. Scope: `webhooks:read`. */
  list(filters?: QueryOf<'listEvents'>, options?: CallOptions): List<Event> {
    return listOf(this.#call, 'listEvents', { query: filters }, options);
  }

  /** Reads an event with the number of its deliveries in each status. Scope: `webhooks:read`. */
  get(id: string, options?: CallOptions): Promise<Event> {
    return this.#call('getEvent', { path: { id } }, options);
  }

  /** Lists the deliveries of an event, one for each endpoint. Scope: `webhooks:read`. */
  listDeliveries(id: string, filters?: QueryOf<'listEventDeliveries'>, options?: CallOptions): List<Delivery> {
    return listOf(this.#call, 'listEventDeliveries', { path: { id }, query: filters }, options);
  }
}
