import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../duration.js';
import { isId } from '../id-form.js';
import { MAX_CONCURRENCY } from '../max-concurrency.js';
import { Refusal } from '../refusal.js';

/** The number of items to list. */
export function parseLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw new InvalidArgumentError('Give 1 to 1000.');
  return limit;
}

/** A limit of attempts at once. @returns null for `default`, the limit of the deployment */
export function parseConcurrency(text: string): number | null {
  if (text === 'default') return null;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_CONCURRENCY) {
    throw new InvalidArgumentError(`Give 1 to ${MAX_CONCURRENCY}, or default.`);
  }
  return limit;
}

/** A duration. @returns ms */
export function parseTime(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) throw new InvalidArgumentError('Give a duration such as 30s, 24h or 7d.');
  return milliseconds;
}

const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** A time, or a duration before now. @returns ms since 1970 */
export function parseSince(text: string): number {
  const ago = parseDuration(text);
  if (ago !== undefined) return Date.now() - ago;
  const time = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new InvalidArgumentError('Give a duration such as 2h, or a time such as 2026-11-21T10:00:00Z.');
  }
  return time;
}

/** The id of a `thing`. A text that is not a UUID is not found, as in the API. @throws Refusal not_found */
export function idOf(thing: string): (text: string) => string {
  return (text) => {
    if (!isId(text)) throw new Refusal('not_found', `There is no such ${thing}.`);
    return text.toLowerCase();
  };
}

/** One of `values`. @param message the error for any other text */
export function oneOf<T extends string>(values: readonly T[], message: string): (text: string) => T {
  return (text) => {
    const value = values.find((one) => one === text);
    if (value === undefined) throw new InvalidArgumentError(message);
    return value;
  };
}

/** A longer text is no digest of any kind. */
const MAX_DIGEST = 512;

/** A digest that a receiver computed: any text that is no longer than the API's route accepts. */
export function parseDigest(text: string): string {
  if (text.length > MAX_DIGEST) throw new InvalidArgumentError(`Give at most ${MAX_DIGEST} characters.`);
  return text;
}
