/** Characters that change the direction of text (UAX #9). */
const BIDIRECTIONAL = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';
/** They, what controls a terminal, and lone surrogates. */
const CONTROLS = new RegExp(`[\\p{Cc}\\p{Cs}${BIDIRECTIONAL}]`, 'gu');

/**
 * A text in one line and harmless: texts of clients, receivers and senders must not control the operator's terminal. A
 * control or bidirectional character becomes U+FFFD. @param longest in characters; the rest is cut
 */
export function harmless(text: string, longest = Number.POSITIVE_INFINITY): string {
  // The text is cut first because it may be large.
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return cut.replace(/\s+/g, ' ').replace(CONTROLS, '\ufffd');
}

/** JSON in one line with those characters escaped; `JSON.stringify` leaves many of them unescaped. */
export function harmlessJson(value: unknown): string {
  return escapeControls(JSON.stringify(value));
}

/** JSON with those characters escaped; its line feeds, which no string of JSON has, stay. */
export function escapeControls(json: string): string {
  return json.replace(CONTROLS, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
