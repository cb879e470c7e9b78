import { type EnsuredEndpoint, ensureEndpoint, type WantedEndpoint } from '../ensure-endpoint.js';
import type { List } from '../list.js';
import { listOf } from '../list-of.js';
import type { Call, CallOptions, ChangeOptions, PostOptions, QueryOf } from '../operations.js';
import type {
  Delivery,
  NewWebhookEndpoint,
  ReceiverCheck,
  Recovered,
  RecoverRequest,
  Recovery,
  StartedReceiverCheck,
  Statement,
  WebhookEndpoint,
  WebhookEndpointHealth,
  WebhookEndpointPatch,
  WebhookEndpointUpdate,
} from '../types.js';

/** The URLs that receive your events. */
export class WebhookEndpoints {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /** Registers an endpoint with a secret of your choice. Scope: `webhooks:write`. */
  register(endpoint: NewWebhookEndpoint, options?: PostOptions): Promise<WebhookEndpoint> {
    return this.#call('registerWebhookEndpoint', { body: endpoint }, options);
  }

  /**
   * Registers an endpoint unless its URL is registered, and changes what differs: for every start of your program, also
   * of several instances at once. It never makes a second endpoint by accident, which would double every event. The
   * secret cannot be compared: give it a name (`secretRef`). Of `headers`, only the names are compared. Scopes:
   * `webhooks:read` and `webhooks:write`.
   */
  ensure(endpoint: WantedEndpoint): Promise<EnsuredEndpoint> {
    return ensureEndpoint(this, endpoint);
  }

  /** Lists the endpoints, newest first. Scope: `webhooks:read`. */
  list(filters?: QueryOf<'listWebhookEndpoints'>, options?: CallOptions): List<WebhookEndpoint> {
    return listOf(this.#call, 'listWebhookEndpoints', { query: filters }, options);
  }

  /** Reads an endpoint. Scope: `webhooks:read`. */
  get(webhookId: string, options?: CallOptions): Promise<WebhookEndpoint> {
    return this.#call('getWebhookEndpoint', { path: { webhookId } }, options);
  }

  /**
   * Replaces an endpoint: an omitted `description`, `max_concurrency` or `max_per_second` becomes null, omitted
   * `signatures` or `headers` become none, an omitted `enabled` stays. A header without a value keeps the stored one.
   * Scope: `webhooks:write`.
   */
  update(webhookId: string, update: WebhookEndpointUpdate, options?: ChangeOptions): Promise<WebhookEndpoint> {
    return this.#call('updateWebhookEndpoint', { path: { webhookId }, body: update }, options);
  }

  /** Changes the given fields of an endpoint; null clears one. Scope: `webhooks:write`. */
  patch(webhookId: string, changes: WebhookEndpointPatch, options?: ChangeOptions): Promise<WebhookEndpoint> {
    return this.#call('patchWebhookEndpoint', { path: { webhookId }, body: changes }, options);
  }

  /** Deletes an endpoint, erases its secret and cancels its pending deliveries. Scope: `webhooks:write`. */
  delete(webhookId: string, options?: ChangeOptions): Promise<void> {
    return this.#call('deleteWebhookEndpoint', { path: { webhookId } }, options);
  }

  /** Lists the deliveries to an endpoint, newest first. Scope: `webhooks:read`. */
  listDeliveries(
    webhookId: string,
    filters?: QueryOf<'listEndpointDeliveries'>,
    options?: CallOptions,
  ): List<Delivery> {
    return listOf(this.#call, 'listEndpointDeliveries', { path: { webhookId }, query: filters }, options);
  }

  /** Reads how the attempts at an endpoint went lately, and what is pending. Scope: `webhooks:read`. */
  health(webhookId: string, options?: CallOptions): Promise<WebhookEndpointHealth> {
    return this.#call('getWebhookEndpointHealth', { path: { webhookId } }, options);
  }

  /** Sends what failed or was cancelled again; if asked, also what is missing or waits. Scope: `webhooks:write`. */
  recover(webhookId: string, range: RecoverRequest, options?: PostOptions): Promise<Recovered> {
    return this.#call('recoverWebhookEndpoint', { path: { webhookId }, body: range }, options);
  }

  /** Lists the recoveries of an endpoint with their progress, newest first. Scope: `webhooks:read`. */
  listRecoveries(webhookId: string, filters?: QueryOf<'listRecoveries'>, options?: CallOptions): List<Recovery> {
    return listOf(this.#call, 'listRecoveries', { path: { webhookId }, query: filters }, options);
  }

  /** Reads a recovery: `started` rises while it runs. Scope: `webhooks:read`. */
  getRecovery(webhookId: string, id: string, options?: CallOptions): Promise<Recovery> {
    return this.#call('getRecovery', { path: { webhookId, id } }, options);
  }

  /** Cancels a recovery: it queues nothing more, and what it has queued continues. Scope: `webhooks:write`. */
  cancelRecovery(webhookId: string, id: string, options?: PostOptions): Promise<Recovery> {
    return this.#call('cancelRecovery', { path: { webhookId, id } }, options);
  }

  /**
   * Counts the outcome of every event made in [`since`, `until`) at this endpoint, over 31 days at most; by default of
   * the last 24 hours, or since its registration. Scope: `webhooks:read`.
   */
  statement(
    webhookId: string,
    window?: QueryOf<'getWebhookEndpointStatement'>,
    options?: CallOptions,
  ): Promise<Statement> {
    return this.#call('getWebhookEndpointStatement', { path: { webhookId }, query: window }, options);
  }

  /** Starts a check of the receiver; the report is {@link getCheck}'s. Sandbox only. Scope: `webhooks:write`. */
  check(webhookId: string, options?: PostOptions): Promise<StartedReceiverCheck> {
    return this.#call('checkReceiver', { path: { webhookId } }, options);
  }

  /** Reads the report of a check, also while it runs. Sandbox only. Scope: `webhooks:read`. */
  getCheck(webhookId: string, id: string, options?: CallOptions): Promise<ReceiverCheck> {
    return this.#call('getReceiverCheck', { path: { webhookId, id } }, options);
  }
}
