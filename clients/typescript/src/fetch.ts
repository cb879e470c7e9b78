import { MAX_BODY, receive, type WebhookOptions } from './receiver/receive.js';

export type { ReceivedDelivery, WebhookOptions, WebhookSecret } from './receiver/receive.js';

/**
 * A handler of standard requests: route handlers of Next.js, Hono, Bun, Deno and others that have `node:crypto`.
 *
 * ```ts
 * export const POST = transferWebhooks({ secret, onEvent: (event) => queue.add(event) });
 * ```
 */
export function transferWebhooks(options: WebhookOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
    if (request.bodyUsed) throw new Error('the body was read before its signature was verified');
    const body = await readLimited(request);
    if (!body) return new Response(null, { status: 413 });
    const header = request.headers.get('service-signature');
    const { status, reason } = await receive(options, { header, body });
    return new Response(reason ?? null, { status });
  };
}

async function readLimited({ body }: Request): Promise<Uint8Array | undefined> {
  if (!body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (const reader = body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.byteLength;
    if (bytes > MAX_BODY) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(value);
  }
  const all = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}
