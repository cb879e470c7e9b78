import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Answer } from './answer.js';
import { mistake } from './schemas/text.js';

const CHECK_BYTES = 4;

/**
 * A cursor is the id that a page ended with, and a checksum, so that one that was changed on its way is refused rather
 * than read as another place. It is no secret: what it points into is always the caller's own.
 */
export function writeCursor(id: string): string {
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
  return Buffer.concat([bytes, checksum(bytes)]).toString('base64url');
}

function readCursor(cursor: string): string | undefined {
  const all = Buffer.from(cursor, 'base64url');
  const bytes = all.subarray(0, 16);
  if (all.toString('base64url') !== cursor || bytes.length !== 16 || !all.subarray(16).equals(checksum(bytes))) {
    return undefined;
  }
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function checksum(bytes: Uint8Array): Buffer {
  return createHash('sha256').update('cursor').update(bytes).digest().subarray(0, CHECK_BYTES);
}

/** The query parameters of every list. */
export const paging = {
  limit: z
    .string()
    .refine(
      (value) => /^[1-9]\d{0,2}$/.test(value) && Number(value) <= 100,
      mistake('invalid_limit', 'must be a whole number from 1 to 100'),
    )
    .transform(Number)
    .default(25)
    .meta({ type: 'integer', minimum: 1, maximum: 100, default: 25, description: 'Items on a page.' }),
  cursor: z
    .string()
    .transform((value, context) => {
      const id = readCursor(value);
      if (id !== undefined) return id;
      context.addIssue({
        code: 'custom',
        params: { code: 'invalid_cursor' },
        message: 'is no cursor of an earlier answer',
      });
      return z.NEVER;
    })
    .optional()
    .meta({ description: '`next_cursor` of the page before.' }),
};

/** What a list verb is asked for: one item more than the page has, to see whether there are more. */
export function pageOf({ limit, cursor }: { limit: number; cursor?: string | undefined }): {
  before: string | undefined;
  take: number;
} {
  return { before: cursor, take: limit + 1 };
}

/** The page's answer, of what the verb gave for `pageOf`, with the `Link` to the next one. */
export function answerPage<Row extends { id: string }, View>(
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => View,
  request: { baseUrl: string; path: string; search: URLSearchParams },
): Answer {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const cursor = rows.length > limit && last !== undefined ? writeCursor(last.id) : null;
  return {
    status: 200,
    ...(cursor !== null && { headers: { Link: nextLink(request, cursor) } }),
    body: { data: page.map(present), has_more: cursor !== null, next_cursor: cursor },
  };
}

/** RFC 8288, with the filters of this page; absolute, as clients know the API. */
function nextLink(
  { baseUrl, path, search }: { baseUrl: string; path: string; search: URLSearchParams },
  cursor: string,
) {
  const next = new URLSearchParams(search);
  next.set('cursor', cursor);
  return `<${baseUrl}${path}?${next}>; rel="next"`;
}
