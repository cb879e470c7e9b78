import getRawBody from 'raw-body';
import { Refusal } from '../platform/refusal.js';
import type { AppContext } from './context.js';

/** The largest body of a request, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024;

/**
 * The body's bytes; empty where there is none.
 * @throws Refusal payload_too_large | unsupported_media_type (other than JSON, another charset, compressed) |
 * malformed_request (cut off)
 */
export async function readBody(ctx: AppContext): Promise<Buffer> {
  const bytes = await readBytes(ctx);
  // A PATCH is a JSON merge patch (RFC 7396), by its own name or as plain JSON.
  const types = [...(ctx.method === 'PATCH' ? ['application/merge-patch+json'] : []), 'application/json'];
  // The only charset of JSON is UTF-8 (RFC 8259 §8.1).
  if (bytes.length > 0 && !(ctx.request.is(types) && /^(utf-?8)?$/i.test(ctx.request.charset))) {
    const named = types.join(' or ');
    throw new Refusal('unsupported_media_type', `Send the body as Content-Type: ${named}, in UTF-8.`);
  }
  return bytes;
}

/**
 * The body's bytes; the media type is not checked.
 * @param limit in bytes
 * @throws Refusal payload_too_large | unsupported_media_type (compressed) | malformed_request (cut off)
 */
export async function readBytes(ctx: AppContext, limit = MAX_BODY_BYTES): Promise<Buffer> {
  const encoding = ctx.get('Content-Encoding').trim().toLowerCase();
  if (encoding !== '' && encoding !== 'identity') {
    throw new Refusal('unsupported_media_type', 'Send the body uncompressed, without Content-Encoding.');
  }
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

/** Holds no state between calls: each call passes a whole text. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses JSON (RFC 8259) after its members are counted. Text with more members or levels is not parsed: parsing 7,000
 * members costs milliseconds. A repeated member name is refused: parsers differ in which of the two values they take,
 * and the value may be an amount.
 * @throws Refusal malformed_request
 */
export function parseBody(bytes: Uint8Array, maxMembers = MAX_MEMBERS): { value: unknown } | { excess: Excess } {
  const text = textOf(bytes);
  if (text === undefined) throw new Refusal('malformed_request', 'The body is not valid UTF-8.');
  if (text.trim() === '') throw new Refusal('malformed_request', 'The body is empty; send a JSON object.');
  const fault = examineStructure(text, maxMembers);
  if (typeof fault === 'object') return { excess: fault };
  let value: unknown;
  try {
    value = JSON.parse(text, withoutRounding);
  } catch {
    throw new Refusal('malformed_request', 'The body is not valid JSON.');
  }
  if (fault === 'repeated_name') throw new Refusal('malformed_request', 'A member name appears twice in one object.');
  return { value };
}

/** The text of bytes in UTF-8; undefined for any other bytes. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Digits of the largest safe integer. A number of no more digits is never rounded to another integer by a double. */
const EXACT_DIGITS = 16;

/**
 * A reviver for `JSON.parse`. It returns NaN for an integer that may be rounded, such as 1 for
 * `0.99999999999999999999`: the service must not take another amount than the client wrote, and every schema refuses
 * NaN.
 */
function withoutRounding(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (!Number.isSafeInteger(value)) return value;
  const digits = context?.source?.replace(/(\.0+)?(e.*)?$|\D/gi, '') ?? '';
  const isRounded = digits.length > EXACT_DIGITS || (value === 0 && /[1-9]/.test(digits));
  return isRounded ? Number.NaN : value;
}

/** Members and array items that a body may have in total; the largest valid request has 28 members. */
export const MAX_MEMBERS = 100;

/** Levels of objects and arrays in a body; the deepest valid request has 3. */
export const MAX_DEPTH = 16;

/** The limit that a text exceeds, and where. */
export interface Excess {
  of: 'members' | 'depth';
  /** The names of the outermost object that were read before the excess; null where the outermost value is an array. */
  names: readonly string[] | null;
  /** The name whose value has the excess; undefined where the outermost object or array itself has it. */
  within: string | undefined;
}

/**
 * Examines names and brackets, each character once, and stops at the first excess: a text of 7,000
 * members costs no more than a text of `maxMembers`. The result for a text that is not JSON has no meaning; this
 * function does not throw.
 * @returns the first fault: an excess, or a name that appears twice in one object
 */
export function examineStructure(text: string, maxMembers: number): Excess | 'repeated_name' | undefined {
  /** The names of each open object; null for an array. */
  const open: (Set<string> | null)[] = [];
  let members = 0;
  let strings = 0;
  let outermost: string | undefined;
  const excess = (of: Excess['of']): Excess => {
    return { of, names: open[0] ? [...open[0]] : null, within: open.length > 1 ? outermost : undefined };
  };
  for (const [token, quoted, colon] of text.matchAll(TOKENS)) {
    const names = open.at(-1);
    if (quoted !== undefined) {
      // JSON has at most a name and a value for each member, and one value more. 64 KiB of quotes would cost 3 ms.
      if (++strings > 2 * maxMembers + 1) return undefined;
      if (colon === undefined) continue;
      const name = nameOf(quoted);
      if (names?.has(name)) return 'repeated_name';
      names?.add(name);
      if (open.length === 1) outermost = name;
      if (++members > maxMembers) return excess('members');
    } else if (token === '{' || token === '[') {
      if (open.length === MAX_DEPTH) return excess('depth');
      open.push(token === '{' ? new Set() : null);
    } else if (token === ',') {
      if (names === null && ++members > maxMembers) return excess('members');
    } else {
      open.pop();
    }
  }
  return undefined;
}

/**
 * Brackets, commas, and strings with the colon that makes one a name. The closing quote is optional: where a string
 * must end, a text of quotes that are all escaped takes quadratic time.
 */
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*"?)(\s*:)?|[{}[\],]/gs;

/** A name with invalid escapes is returned as written: `JSON.parse` of the whole text reports it. */
function nameOf(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted;
  }
}
