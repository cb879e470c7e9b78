import type { IncomingMessage } from 'node:http';
import { signatureOf } from './receiver/raw-body.js';
import { MAX_BODY, receive, type WebhookOptions } from './receiver/receive.js';

export type { ReceivedDelivery, WebhookOptions, WebhookSecret } from './receiver/receive.js';

type Done = (error: Error | null, body?: unknown) => void;

/** The part of a Fastify instance that is used. */
export interface FastifyInstanceLike {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (request: never, body: Buffer, done: Done) => void,
  ): unknown;
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
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY }, (_, body, done) => done(null, body));
  app.post(options.path, async (request, reply) => {
    const body = request.body instanceof Uint8Array ? request.body : new Uint8Array();
    const { status, reason } = await receive(options, { header: signatureOf(request.raw), body });
    return reply.code(status).send(reason);
  });
}
