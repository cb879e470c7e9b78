import type { IncomingMessage } from 'node:http';
import { MAX_BODY } from './receive.js';

/**
 * The bytes of a request.
 * @param already what a body parser that ran before has left: bytes, a text, or a parsed value
 * @returns undefined if the body is larger than 64 KiB
 * @throws Error if only the parsed value is left, which cannot be verified
 */
export function rawBody(request: IncomingMessage, already: unknown): Promise<Uint8Array | undefined> {
  if (already instanceof Uint8Array) return Promise.resolve(already);
  if (typeof already === 'string') return Promise.resolve(Buffer.from(already));
  if (request.readableDidRead || request.readableEnded) {
    return Promise.reject(
      new Error(
        'the body was parsed before its signature was verified: put the webhook before every body parser, or leave its path out of them',
      ),
    );
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BODY) {
        // The rest is discarded, so that the response can be sent.
        request.removeAllListeners('data').resume();
        resolve(undefined);
      } else {
        chunks.push(chunk);
      }
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('close', () => reject(new Error('the connection closed before the end of the body')));
  });
}

/** The `Service-Signature` headers, one by one: Node joins repeated headers. */
export function signatureOf(request: IncomingMessage): readonly string[] | undefined {
  return request.headersDistinct['service-signature'];
}
