import type { CursorKind } from '../../http/cursor.js';
import { Refusal } from '../../refusal.js';

/** The position in a list that `cursor` names; undefined at its start. @throws Refusal invalid_request */
export function readCursor<Key>(query: URLSearchParams, kind: CursorKind<Key>): Key | undefined {
  const text = query.get('cursor');
  if (text === null) return undefined;
  const key = kind.read(text);
  if (key !== undefined) return key;
  const error = { parameter: 'cursor', code: 'invalid_cursor', detail: 'is not a cursor of an earlier page' };
  throw new Refusal('invalid_request', 'The link to this page is damaged; start at the first page.', [error]);
}
