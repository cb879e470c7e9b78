import { hash } from 'node:crypto';
import { Refusal } from '../platform/refusal.js';

/**
 * The ETag of a resource (RFC 9110 §8.8.3), a strong one: a hash of what the API shows of it, also the time of its last
 * change, and of what else a request can change.
 */
export const etagOf = (...state: readonly unknown[]): string => tagOf(JSON.stringify(state));

/** `etagOf` of one value that is written as JSON already. */
export const etagOfJson = (json: string): string => tagOf(`[${json}]`);

/** The ETag of these bytes. */
export const tagOf = (content: string | Uint8Array): string => `"${hash('sha256', content, 'base64url')}"`;

const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;
/** A list (RFC 9110 §5.6.1.2) whose tags are replaced by U+0000, which no header contains. */
const LIST = /^[\t ,]*\0(?:[\t ]*,[\t ,]*\0)*[\t ,]*$/;

/**
 * Whether the value of `If-Match` or `If-None-Match` matches an existing resource (RFC 9110 §13.1). A malformed one
 * does not.
 * @param weak compares weakly, as `If-None-Match` does: `W/"a"` matches `"a"`
 */
export function matches(field: string, etag: string, { weak = false } = {}): boolean {
  if (field.trim() === '*') return true;
  const tags = field.match(TAG);
  if (!tags || !LIST.test(field.replace(TAG, '\0'))) return false;
  return tags.includes(etag) || (weak && tags.includes(`W/${etag}`));
}

/** @throws Refusal changed_meanwhile */
export function refuseChanged(ifMatch: string, etag: string): void {
  if (matches(ifMatch, etag)) return;
  throw new Refusal(
    'changed_meanwhile',
    'If-Match is not the current ETag: the resource was changed after you read it. Read it again, then repeat your change.',
  );
}
