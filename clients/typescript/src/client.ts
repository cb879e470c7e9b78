import { refuseBrowser } from './browser.js';
import { createCall } from './call.js';
import { ConsoleSessions } from './resources/console-sessions.js';
import { Deliveries } from './resources/deliveries.js';
import { Events } from './resources/events.js';
import { Operator } from './resources/operator.js';
import { Sandbox } from './resources/sandbox.js';
import { Service } from './resources/service.js';
import { Transfers } from './resources/transfers.js';
import { WebhookEndpoints } from './resources/webhook-endpoints.js';
import { type ClientOptions, checkOptions } from './settings.js';
import { TokenSource } from './token.js';

/**
 * The API of the transfer service. Make one client and share it: it gets an access token at the first call, keeps it
 * and renews it before it expires.
 *
 * A call is tried at most four times in 60 seconds: after 429, 503 and a broken connection, with random delays and at
 * least `Retry-After` between the tries. A POST carries an `Idempotency-Key`, the same in all tries, so that nothing is
 * made twice, and is tried again after 500, 502 and 504 too.
 *
 * ```ts
 * const client = new TransferServiceClient({ baseUrl, clientId, clientSecret });
 * const transfer = await client.transfers.create({
 *   amount: { value: 1250, currency: 'EUR' },
 *   destination: { name: 'Ada Lovelace', account: 'DE89370400440532013000' },
 * });
 * ```
 */
export class TransferServiceClient {
  readonly transfers: Transfers;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly events: Events;
  readonly deliveries: Deliveries;
  readonly consoleSessions: ConsoleSessions;
  readonly sandbox: Sandbox;
  readonly operator: Operator;
  readonly service: Service;

  /** @throws TypeError for an invalid option, Error in a browser */
  constructor(options: ClientOptions) {
    refuseBrowser();
    const settings = checkOptions(options);
    const call = createCall(settings, new TokenSource(settings));
    this.transfers = new Transfers(call);
    this.webhookEndpoints = new WebhookEndpoints(call);
    this.events = new Events(call);
    this.deliveries = new Deliveries(call);
    this.consoleSessions = new ConsoleSessions(call);
    this.sandbox = new Sandbox(call);
    this.operator = new Operator(call);
    this.service = new Service(call);
  }
}
