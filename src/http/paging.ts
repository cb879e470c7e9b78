import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isId } from '../platform/ids.js';
import { MAX_RESPONSE_BYTES, Reply } from './response.js';
import { validationError, view } from './schemas/fields.js';

/**
 * Writes and reads the position where a page ended. A cursor holds the key that its list is ordered by and a checksum
 * over that key and the list's name, so that a damaged cursor or a cursor of another list is refused and not read as a
 * position. Lists of one name, such as the deliveries of two endpoints, read each other's cursors: the position is one
 * in time, in both. A cursor is not secret: it points into the caller's own data.
 */
interface CursorKind<Key = string, Row = { id: string }> {
  write(key: Key): string;
  /** The cursor of the page after the one that ends with this row. */
  after(row: Row): string;
  /** Undefined where the text is not a cursor of this list. */
  read(cursor: string): Key | undefined;
}

/** For the list `list` that is ordered by id. */
export const idCursor = (list: string) => cursorKind(list, 'id', (text) => (isId(text) ? text : undefined));

/**
 * For the list `list` that is ordered by a number. A client can compute the checksum for any number: a number beyond
 * Postgres's int4 is read as the largest int4.
 */
export const numberCursor = (list: string) =>
  cursorKind(list, 'number', (text) => (/^\d{1,10}$/.test(text) ? Math.min(Number(text), 2 ** 31 - 1) : undefined));

const CHECKSUM_LENGTH = 6;

/**
 * @param name the field of a row that is the key
 * @param parse reads a key as it is written as text; undefined for any other text
 */
function cursorKind<Name extends string, Key extends string | number>(
  list: string,
  name: Name,
  parse: (text: string) => Key | undefined,
): CursorKind<Key, Record<Name, Key>> {
  const encode = (key: string) => {
    const checksum = createHash('sha256').update(`${list} ${key}`).digest('base64url').slice(0, CHECKSUM_LENGTH);
    return Buffer.from(checksum + key).toString('base64url');
  };
  return {
    write: (key) => encode(String(key)),
    after: (row) => encode(String(row[name])),
    read(cursor) {
      const key = Buffer.from(cursor, 'base64url').toString().slice(CHECKSUM_LENGTH);
      return encode(key) === cursor ? parse(key) : undefined;
    },
  };
}

/** The query parameters of a list. A page has at most `most` items; `usual` is the default. */
export function paging<Key>(kind: Pick<CursorKind<Key, never>, 'read'>, { most, usual } = { most: 100, usual: 25 }) {
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

/** The body of a list: a page of `item`, named `id` in the OpenAPI document. */
export function pageView<Item extends z.ZodType>(id: string, item: Item) {
  return view(id, {
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'The `cursor` of the next page; null on the last page, but not of the feed of events.' }),
  });
}

interface PageQuery<Key> {
  limit: number;
  cursor?: Key | undefined;
  created_after?: number | undefined;
  created_before?: number | undefined;
}

/** The range that a list function reads: one item more than the page has, which shows whether another page follows. */
export function pageOf<Key>({ limit, cursor, created_after, created_before }: PageQuery<Key>) {
  return { before: cursor, createdAfter: created_after, createdBefore: created_before, take: limit + 1 };
}

/** Bytes for a page's items; the rest of the largest response is for the members around them. */
const PAGE_BYTES = MAX_RESPONSE_BYTES - 1_000;

/**
 * The response for a page, with the `Link` to the next one (RFC 8288), which has the filters of this page. A page has
 * `limit` items, or fewer where they would exceed the largest response; the cursor then continues after the last item
 * of the page. Each item is serialized once, so that measuring its size is free.
 * @param rows read with `pageOf`
 * @param next the key after which the next page starts if all rows are on this one; null: this is then the last page
 * @param end of a list that grows at its end: the key after the last page, whose cursor then leads to later rows
 */
export function respondWithPage<Key, Row, View>(
  { url, search, query: { limit } }: { url: string; search: URLSearchParams; query: { limit: number } },
  cursors: CursorKind<Key, Row>,
  rows: readonly Row[],
  present: (row: Row) => View,
  next: Key | null = null,
  end: Key | null = null,
): Reply {
  const items: string[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, limit)) {
    const item = JSON.stringify(present(row));
    bytes += Buffer.byteLength(item) + 1;
    if (bytes > PAGE_BYTES && items.length > 0) break;
    items.push(item);
  }
  const last = rows[items.length - 1];
  const hasMore = rows.length > items.length && last !== undefined;
  const cursor = hasMore ? cursors.after(last) : next && cursors.write(next);
  const shown = cursor ?? (end && cursors.write(end));
  const json = `{"data":[${items.join()}],"has_more":${cursor !== null},"next_cursor":${JSON.stringify(shown)}}`;
  if (cursor === null) return new Reply(json);
  const following = new URLSearchParams(search);
  following.set('cursor', cursor);
  return new Reply(json, { Link: `<${url}?${following}>; rel="next"` });
}
