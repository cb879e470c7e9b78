import { List, type Page } from './list.js';
import type { Arguments, Call, CallOptions, OperationId, PathOf, QueryOf, ResultOf } from './operations.js';

/** The operations that return a page. */
type ListId = { [Id in OperationId]: ResultOf<Id> extends Page<unknown> ? Id : never }[OperationId];

type ItemOf<Id extends ListId> = ResultOf<Id> extends Page<infer Item> ? Item : never;

/** The list that an operation returns page by page. */
export function listOf<Id extends ListId>(
  call: Call,
  id: Id,
  { path, query }: { path?: PathOf<Id>; query: QueryOf<Id> | undefined },
  options: CallOptions | undefined,
): List<ItemOf<Id>> {
  return new List(async (cursor) => {
    const given = { path, query: cursor === undefined ? query : { ...query, cursor } } as Arguments<Id>;
    return (await call(id, given, options)) as Page<ItemOf<Id>>;
  });
}
