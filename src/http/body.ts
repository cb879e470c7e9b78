import getRawBody from 'raw-body';
import { Refusal } from '../refusal.js';
import type { AppContext } from './state.js';

/** Bytes that a request's body may have (contract, Errors). */
export const MAX_BODY_BYTES = 64 * 1024;

/**
 * The body's bytes; empty where there is none.
 * @throws Refusal payload_too_large | unsupported_media_type (other than JSON, another charset, compressed) | malformed_request (cut off)
 */
export async function readBody(ctx: AppContext): Promise<Buffer> {
  const encoding = ctx.get('Content-Encoding').trim().toLowerCase();
  if (encoding !== '' && encoding !== 'identity') {
    throw new Refusal('unsupported_media_type', 'Send the body as it is, with no Content-Encoding.');
  }
  const bytes = await readBytes(ctx);
  if (bytes.length > 0 && !isJson(ctx.get('Content-Type'))) {
    throw new Refusal('unsupported_media_type', 'Send the body as Content-Type: application/json, in UTF-8.');
  }
  return bytes;
}

/** The body's bytes, of whatever type, at most `limit`. @throws Refusal payload_too_large | malformed_request (cut off) */
export async function readBytes(ctx: AppContext, limit = MAX_BODY_BYTES): Promise<Buffer> {
  try {
    return await getRawBody(ctx.req, { length: ctx.get('Content-Length') || null, limit });
  } catch (error) {
    // The rest is read away (for as long as the server's request timeout allows), so that the client can read our answer.
    ctx.req.resume();
    if ((error as { type?: unknown }).type === 'entity.too.large') {
      throw new Refusal('payload_too_large', `The body may have ${limit} bytes.`);
    }
    throw new Refusal('malformed_request', 'The body ended before it was complete.');
  }
}

/** `application/json`, with no parameter but `charset=utf-8` (RFC 8259 §8.1). */
function isJson(contentType: string): boolean {
  const [type, ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  return (
    type === 'application/json' &&
    parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter))
  );
}
