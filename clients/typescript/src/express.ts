import type { IncomingMessage, ServerResponse } from 'node:http';
import { rawBody, signatureOf } from './receiver/raw-body.js';
import { receive, type WebhookOptions } from './receiver/receive.js';

export type { ReceivedDelivery, WebhookOptions, WebhookSecret } from './receiver/receive.js';

/**
 * A handler for Express, Connect and `node:http`. It reads the raw body itself: put it before `express.json()`. Behind
 * `express.raw()` and `express.text()` it works too.
 *
 * ```ts
 * app.post('/hooks', transferWebhooks({ secret, onEvent: (event) => queue.add(event) }));
 * ```
 */
export function transferWebhooks(
  options: WebhookOptions,
): (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void {
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await rawBody(request, (request as { body?: unknown }).body);
    if (!body) {
      response.writeHead(413, { connection: 'close' }).end();
      return;
    }
    const { status, reason } = await receive(options, { header: signatureOf(request), body });
    response.writeHead(status, reason === undefined ? {} : { 'content-type': 'text/plain; charset=utf-8' }).end(reason);
  };
  return (request, response, next) => {
    respond(request, response).catch((error: unknown) => {
      if (next) next(error);
      else response.writeHead(500).end();
    });
  };
}
