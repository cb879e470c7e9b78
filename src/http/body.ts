import getRawBody from 'raw-body';
import { Refusal } from '../refusal.js';
import { mediaTypesOf } from './route.js';
import type { AppContext } from './state.js';

/** The largest body of a request, in bytes (contract, Errors). */
export const MAX_BODY_BYTES = 64 * 1024;

/**
 * The body's bytes; empty where there is none.
 * @throws Refusal payload_too_large | unsupported_media_type (other than JSON, another charset, compressed) |
 * malformed_request (cut off)
 */
export async function readBody(ctx: AppContext): Promise<Buffer> {
  const encoding = ctx.get('Content-Encoding').trim().toLowerCase();
  if (encoding !== '' && encoding !== 'identity') {
    throw new Refusal('unsupported_media_type', 'Send the body uncompressed, without Content-Encoding.');
  }
  const bytes = await readBytes(ctx);
  const types = mediaTypesOf(ctx.method);
  if (bytes.length > 0 && !isJson(ctx.get('Content-Type'), types)) {
    const named = types.join(' or ');
    throw new Refusal('unsupported_media_type', `Send the body as Content-Type: ${named}, in UTF-8.`);
  }
  return bytes;
}

/**
 * The body's bytes; the media type is not checked.
 * @param limit in bytes
 * @throws Refusal payload_too_large | malformed_request (cut off)
 */
export async function readBytes(ctx: AppContext, limit = MAX_BODY_BYTES): Promise<Buffer> {
  try {
    return await getRawBody(ctx.req, { length: ctx.get('Content-Length') || null, limit });
  } catch (error) {
    // The rest is read and discarded, within the server's request timeout, so that the client can read the response.
    ctx.req.resume();
    if ((error as { type?: unknown }).type === 'entity.too.large') {
      throw new Refusal('payload_too_large', `The body may have at most ${limit} bytes.`);
    }
    throw new Refusal('malformed_request', 'The body ended before it was complete.');
  }
}

/** The only charset of JSON is UTF-8 (RFC 8259 §8.1). */
function isJson(contentType: string, types: readonly string[]): boolean {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  return (
    types.includes(type) &&
    parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter))
  );
}
