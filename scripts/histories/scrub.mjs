import { hostname } from 'node:os';

/**
 * Replaces this machine's names in a history (as JSON) and in its payloads by examples, and removes stack traces.
 * Replay reads neither.
 * @param replacements pairs of a text and its replacement
 */
export function scrub(history, replacements) {
  const clean = (text) =>
    replacements
      .reduce((cleaned, [found, example]) => cleaned.replaceAll(found, example), text)
      .replaceAll(hostname(), 'worker.example.com');
  const walk = (value, key) => {
    if (key === 'stackTrace') return '';
    if (typeof value === 'string') return key === 'data' ? recode(value, clean) : clean(value);
    if (Array.isArray(value)) return value.map((one) => walk(one));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, walk(one, name)]));
  };
  return walk(history);
}

/** A payload is JSON in base64. */
const recode = (data, clean) => Buffer.from(clean(Buffer.from(data, 'base64').toString())).toString('base64');
