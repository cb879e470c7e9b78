import { Refusal } from '../refusal.js';
import { type Excess, examineStructure, type JsonStructure, MAX_DEPTH, MAX_MEMBERS } from './json-structure.js';

/** Keeps nothing between two calls: each gives it a whole text. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a text of JSON (RFC 8259). A member name that appears twice is refused, for readers differ in which of
 * the two they take, and one of them may be an amount.
 * @throws Refusal malformed_request
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  const structure = examineStructure(text, Number.POSITIVE_INFINITY);
  if (structure.excess) throw new Refusal('malformed_request', `The body is nested deeper than ${MAX_DEPTH} levels.`);
  return parse(text, structure);
}

/**
 * The same for a request's body, whose members are counted before it is read. One that has more of them, or is deeper, than
 * any request takes is not read at all: building 7,000 members costs milliseconds.
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

function parse(text: string, { repeated }: JsonStructure): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal('malformed_request', 'The body is not valid JSON.');
  }
  if (repeated) throw new Refusal('malformed_request', 'A member name appears twice in one object.');
  return value;
}
