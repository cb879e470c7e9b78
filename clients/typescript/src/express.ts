import type { IncomingMessage, ServerResponse } from 'node:http';
import { rawBody, signatureOf } from './receiver/raw-body.js';
import { receive, type WebhookOptions } from './receiver/receive.js';

export type { ReceivedDelivery, WebhookOptions, WebhookSecret } from './receiver/receive.js';

/**
 * A handler for Express, Connect and `node:http`, and for platforms that hand over requests in their form, such as
 * Firebase, NestJS and adapters for AWS Lambda. It reads the raw body itself: put it before `express.json()`. Behind
 * `express.raw()`, `express.text()` and parsers that keep `request.rawBody` it works too. The promise resolves after
 * the response; without `next` it never rejects.
 *
 * ```ts
 * app.post('/hooks', transferWebhooks({ secret, onEvent: (event) => queue.add(event) }));
 * ```
 */
export function transferWebhooks(
  options: WebhookOptions,
): (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      const body = await rawBody(request);
      if (!body) {
        response.statusCode = 413;
        response.setHeader('connection', 'close');
        response.end();
        return;
      }
      const { status, reason } = await receive(options, { header: signatureOf(request), body });
      response.statusCode = status;
      if (reason !== undefined) response.setHeader('content-type', 'text/plain; charset=utf-8');
      response.end(reason);
    } catch (error) {
      if (next) {
        next(error);
      } else {
        response.statusCode = 500;
        response.end();
      }
    }
  };
}
