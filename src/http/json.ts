import { Refusal } from '../refusal.js';
import { denotesExactly } from './json-number.js';
import { type Excess, examineStructure, type JsonStructure, MAX_DEPTH, MAX_MEMBERS } from './json-structure.js';

/** Holds no state between calls: each call passes a whole text. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses JSON (RFC 8259). A repeated member name is refused: parsers differ in which of the two values they take, and
 * the value may be an amount.
 * @throws Refusal malformed_request
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  const structure = examineStructure(text, Number.POSITIVE_INFINITY);
  if (structure.excess) throw new Refusal('malformed_request', `The body is nested deeper than ${MAX_DEPTH} levels.`);
  return parse(text, structure);
}

/**
 * Parses a request's body after its members are counted. A body with more members or levels than any request allows is
 * not parsed: parsing 7,000 members costs milliseconds.
 * @throws Refusal malformed_request
 */
export function parseBody(bytes: Uint8Array): { value: unknown } | { excess: Excess } {
  const text = decode(bytes);
  const structure = examineStructure(text, MAX_MEMBERS);
  return structure.excess ? { excess: structure.excess } : { value: parse(text, structure) };
}

function decode(bytes: Uint8Array): string {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new Refusal('malformed_request', 'The body is not valid UTF-8.');
  }
  if (text.trim() === '') throw new Refusal('malformed_request', 'The body is empty; send a JSON object.');
  return text;
}

function parse(text: string, { repeated, mayRound }: JsonStructure): unknown {
  let value: unknown;
  try {
    // A reviver makes parsing slower, so only a text that needs one is parsed with it.
    value = mayRound ? JSON.parse(text, withoutRounding) : JSON.parse(text);
  } catch {
    throw new Refusal('malformed_request', 'The body is not valid JSON.');
  }
  if (repeated) throw new Refusal('malformed_request', 'A member name appears twice in one object.');
  return value;
}

/**
 * A reviver for `JSON.parse`. It returns NaN for a number that was rounded to an integer, such as 1 for
 * `0.99999999999999999999`: the service must not take another amount than the client wrote, and every schema refuses
 * NaN.
 */
function withoutRounding(_name: string, value: unknown, context?: { source?: string }): unknown {
  const { source } = context ?? {};
  return source !== undefined && Number.isSafeInteger(value) && !denotesExactly(source, Number(value))
    ? Number.NaN
    : value;
}
