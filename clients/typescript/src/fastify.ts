import type { IncomingMessage } from 'node:http';
import { rawBody, signatureOf } from './receiver/raw-body.js';
import { receive, type WebhookOptions } from './receiver/receive.js';

export type { ReceivedDelivery, WebhookOptions, WebhookSecret } from './receiver/receive.js';

/** The part of a Fastify instance that is used. */
export interface FastifyInstanceLike {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(type: string, parser: (request: unknown, payload: IncomingMessage) => Promise<unknown>): unknown;
  post(path: string, handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>): unknown;
}

export interface FastifyRequestLike {
  raw: IncomingMessage;
  body: unknown;
}

export interface FastifyReplyLike {
  code(status: number): { send(body?: string): unknown };
}

/**
 * A plugin for Fastify that adds the route `path`. Its parser of raw bodies counts for this route alone.
 *
 * ```ts
 * app.register(transferWebhooks, { path: '/hooks', secret, onEvent: (event) => queue.add(event) });
 * ```
 */
export async function transferWebhooks(
  app: FastifyInstanceLike,
  options: WebhookOptions & { path: string },
): Promise<void> {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (_, payload) => {
    const body = await rawBody(payload);
    if (!body) throw Object.assign(new Error('the body is too large'), { statusCode: 413 });
    return body;
  });
  app.post(options.path, async (request, reply) => {
    const body = request.body instanceof Uint8Array ? request.body : new Uint8Array();
    const { status, reason } = await receive(options, { header: signatureOf(request.raw), body });
    return reply.code(status).send(reason);
  });
}
