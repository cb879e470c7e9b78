import { z } from 'zod';
import type { CursorKind } from './cursor.js';
import { type HttpResponse, MAX_RESPONSE_BYTES } from './response.js';
import { validationError } from './schemas/text.js';

/** The query parameters of a list. A page has at most `most` items; `usual` is the default. */
export function pagingBy<Key>(kind: CursorKind<Key>, { most, usual }: { most: number; usual: number }) {
  return {
    limit: z
      .string()
      .refine(
        (value) => /^[1-9]\d{0,2}$/.test(value) && Number(value) <= most,
        validationError('invalid_limit', `must be a whole number from 1 to ${most}`),
      )
      .transform(Number)
      .default(usual)
      .meta({
        type: 'integer',
        minimum: 1,
        maximum: most,
        default: usual,
        description: 'Items per page. A page that would exceed 1 MB has fewer items.',
      }),
    cursor: z
      .string()
      .transform((value, context) => {
        const key = kind.read(value);
        if (key !== undefined) return key;
        context.addIssue({
          code: 'custom',
          params: { code: 'invalid_cursor' },
          message: 'is not a cursor of an earlier response of this list',
        });
        return z.NEVER;
      })
      .optional()
      .meta({ description: '`next_cursor` of the previous page.' }),
  };
}

/** The query parameters of a list that is ordered by id. @param cursors the cursors of this list */
export const paging = (cursors: CursorKind<string>) => pagingBy(cursors, { most: 100, usual: 25 });

/** The range that a list function reads: one item more than the page has, which shows whether another page follows. */
export function pageOf<Key>({ limit, cursor }: { limit: number; cursor?: Key | undefined }): {
  before: Key | undefined;
  take: number;
} {
  return { before: cursor, take: limit + 1 };
}

/** Bytes for a page's items; the rest of the largest response is for the members around them. */
const PAGE_BYTES = MAX_RESPONSE_BYTES - 1_000;

export interface PageRequest {
  baseUrl: string;
  path: string;
  search: URLSearchParams;
}

/** The response for a page of rows that were read with `pageOf`, with the `Link` to the next page. */
export function respondWithPage<Row extends { id: string }, View>(
  cursors: CursorKind<string>,
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => View,
  request: PageRequest,
): HttpResponse {
  return respondWithPageBy(({ id }) => cursors.write(id), rows, limit, present, request);
}

/**
 * The response for a page that says itself where the next one starts. A page of that kind may be short or empty although
 * more items follow.
 */
export function respondWithShortPage<Row extends { id: string }, View>(
  cursors: CursorKind<string>,
  rows: readonly Row[],
  next: string | null,
  present: (row: Row) => View,
  request: PageRequest,
): HttpResponse {
  const cursor = next === null ? null : cursors.write(next);
  return {
    status: 200,
    ...(cursor !== null && { headers: { Link: nextLink(request, cursor) } }),
    body: { data: rows.map(present), has_more: cursor !== null, next_cursor: cursor },
  };
}

/**
 * The same for any order. A page has `limit` items, or fewer where they would exceed the largest response; the cursor
 * then continues after the last item of the page. Each item is serialized once, so that measuring its size is free.
 */
export function respondWithPageBy<Row, View>(
  cursorAfter: (row: Row) => string,
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => View,
  request: PageRequest,
): HttpResponse {
  const items: string[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, limit)) {
    const item = JSON.stringify(present(row));
    bytes += Buffer.byteLength(item) + 1;
    if (bytes > PAGE_BYTES && items.length > 0) break;
    items.push(item);
  }
  const last = rows[items.length - 1];
  const cursor = rows.length > items.length && last !== undefined ? cursorAfter(last) : null;
  return {
    status: 200,
    ...(cursor !== null && { headers: { Link: nextLink(request, cursor) } }),
    json: `{"data":[${items.join()}],"has_more":${cursor !== null},"next_cursor":${JSON.stringify(cursor)}}`,
  };
}

/** The `Link` header (RFC 8288), with the filters of this page. The URL is absolute, under `BASE_URL`. */
function nextLink({ baseUrl, path, search }: PageRequest, cursor: string) {
  const next = new URLSearchParams(search);
  next.set('cursor', cursor);
  return `<${baseUrl}${path}?${next}>; rel="next"`;
}
