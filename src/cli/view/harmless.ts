/** Characters of Unicode that change the direction of text (UAX #9). */
const BIDIRECTIONAL = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';
const STEERING = new RegExp(`[\\p{Cc}\\p{Cs}${BIDIRECTIONAL}]`, 'gu');

/**
 * In one line and harmless: what clients, receivers and senders have written must not steer the operator's terminal. A
 * control or bidirectional character shows as U+FFFD. @param longest in characters; the rest is cut
 */
export function harmless(text: string, longest = Number.POSITIVE_INFINITY): string {
  // Cut before anything else: the text may be large.
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return cut.replace(/\s+/g, ' ').replace(STEERING, '\ufffd');
}

/** JSON in one line that means the same, with those characters escaped: `JSON.stringify` leaves many as they are. */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value).replace(
    STEERING,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
