import type { IncomingMessage } from 'node:http';
import { rawBody, signatureOf } from './receiver/raw-body.js';
import { receive, type WebhookOptions } from './receiver/receive.js';

export type { ReceivedDelivery, WebhookOptions, WebhookSecret } from './receiver/receive.js';

/** The part of Koa's context that is used. */
export interface KoaContext {
  req: IncomingMessage;
  request: object;
  status: number;
  body?: unknown;
}

/**
 * A middleware for Koa. It reads the raw body itself: put it before a body parser. Behind one that keeps
 * `ctx.request.rawBody` or the bytes it works too.
 *
 * ```ts
 * router.post('/hooks', transferWebhooks({ secret, onEvent: (event) => queue.add(event) }));
 * ```
 */
export function transferWebhooks(options: WebhookOptions): (ctx: KoaContext) => Promise<void> {
  return async (ctx) => {
    const body = await rawBody(ctx.req, ctx.request);
    if (!body) {
      ctx.status = 413;
      return;
    }
    const { status, reason } = await receive(options, { header: signatureOf(ctx.req), body });
    ctx.status = status;
    if (reason !== undefined) ctx.body = reason;
  };
}
