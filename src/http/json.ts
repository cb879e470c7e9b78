import { Refusal } from '../refusal.js';

/** Keeps nothing between two calls: each gives it a whole text. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a request's body as JSON (RFC 8259). A member name that appears twice is refused, for readers differ in which of
 * the two they take, and one of them may be an amount.
 * @throws Refusal malformed_request
 */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new Refusal('malformed_request', 'The body is not valid UTF-8.');
  }
  if (text.trim() === '') throw new Refusal('malformed_request', 'The body is empty; send a JSON object.');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal('malformed_request', 'The body is not valid JSON.');
  }
  if (hasRepeatedMember(text)) throw new Refusal('malformed_request', 'A member name appears twice in one object.');
  return value;
}

/** @param text valid JSON, so that strings, brackets and colons are all there is to tell apart */
function hasRepeatedMember(text: string): boolean {
  const open: Set<string>[] = [];
  for (const [token, name] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (name !== undefined) {
      const members = open.at(-1);
      const member = JSON.parse(name) as string;
      if (members?.has(member)) return true;
      members?.add(member);
    }
  }
  return false;
}
