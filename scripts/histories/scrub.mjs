import { hostname } from 'node:os';

/**
 * A history (as JSON) with this machine's names replaced by examples, in its payloads too, and without stack traces: replay
 * reads neither.
 * @param replacements pairs of what is there and what is put in its place
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

/** Payloads are JSON in base64. */
const recode = (data, clean) => Buffer.from(clean(Buffer.from(data, 'base64').toString())).toString('base64');
