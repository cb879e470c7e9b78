import type { IncomingMessage } from 'node:http';
import { MAX_BODY } from './receive.js';

const SIGNATURE = 'service-signature';

/** Where a body parser or a platform leaves a body: as bytes, as a text, or as a parsed value. */
interface Holder {
  rawBody?: unknown;
  body?: unknown;
}

/**
 * The bytes of a request: what was kept of it in `rawBody` or `body`, otherwise what its stream still has.
 * @param holders objects other than the request that may hold its body
 * @returns undefined if the stream has more than 64 KiB
 * @throws Error if only the parsed value is left, which cannot be verified
 */
export function rawBody(request: IncomingMessage & Holder, ...holders: Holder[]): Promise<Uint8Array | undefined> {
  for (const holder of [...holders, request]) {
    for (const kept of [holder.rawBody, holder.body]) {
      if (kept instanceof Uint8Array) return Promise.resolve(kept);
      if (typeof kept === 'string') return Promise.resolve(Buffer.from(kept));
    }
  }
  // A mock of a request may be no stream, and would wait forever.
  const wasRead = request.readableDidRead ?? Object.keys(request.body ?? {}).length > 0;
  if (wasRead || request.destroyed) {
    return Promise.reject(
      new Error(
        'the body was parsed before its signature was verified: put the webhook before every body parser, leave its path out of them, or let them keep `rawBody`',
      ),
    );
  }
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    request.on('data', (chunk: Uint8Array | string) => {
      // Texts come after `setEncoding`.
      const part = typeof chunk === 'string' ? Buffer.from(chunk, request.readableEncoding ?? 'utf8') : chunk;
      bytes += part.length;
      // The rest is read and discarded, so that the response can be sent.
      if (bytes > MAX_BODY) resolve(undefined);
      else chunks.push(part);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('close', () => reject(new Error('the connection closed before the end of the body')));
  });
}

/**
 * The `Service-Signature` headers, one by one. Only `node:http` has all three forms; adapters of serverless platforms
 * and mocks fill one. Where repeated headers were joined to one text, its form is wrong, and it is rejected as well.
 */
export function signatureOf({ rawHeaders, headersDistinct, headers }: Partial<IncomingMessage>): readonly string[] {
  const named = (entries: [string, string | string[] | undefined][]) =>
    entries.flatMap(([name, value]) => (name.toLowerCase() === SIGNATURE ? (value ?? []) : []));
  const raw = (rawHeaders ?? []).flatMap((name, i, all): [string, string | undefined][] =>
    i % 2 === 0 ? [[name, all[i + 1]]] : [],
  );
  const forms = [raw, Object.entries(headersDistinct ?? {}), Object.entries(headers ?? {})].map(named);
  return forms.find((values) => values.length > 0) ?? [];
}
