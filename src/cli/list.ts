import type { Database } from '../platform/database/database.js';
import { type Command, idOf, wholeNumber } from './command.js';
import { onDatabase } from './with-database.js';

/** The part of a list to read: at most `take` items, those after the item `before` in the list. */
export interface Page {
  before: string | undefined;
  take: number;
}

interface List<Item, Filters> {
  about: string;
  /** The columns of the table. */
  columns: readonly string[];
  limit?: number;
  cursor?: string;
  read: (database: Database, filters: Filters & Page) => Promise<readonly Item[]>;
  present: (item: Item) => object;
}

/** Adds `list` to a group, page by page. Its filters are options that are added to what this returns. */
export function declareList<Item extends { id: string }, Filters>(group: Command, list: List<Item, Filters>): Command {
  const command = group
    .command('list')
    .description(list.about)
    .option('--limit <n>', 'at most this many', wholeNumber({ min: 1, max: 1_000 }), list.limit ?? 50)
    .option(list.cursor ?? '--cursor <id>', 'the last id of the previous page', idOf('item'));
  command.does(
    onDatabase(async ({ database }, options: Filters & { limit: number; cursor?: string }) => {
      const { limit, cursor: before } = options;
      const found = await list.read(database, { ...options, before, take: limit + 1 });
      const shown = found.slice(0, limit);
      const note = found.length > limit && `there are more; next page: --cursor ${shown.at(-1)?.id}`;
      return { json: shown.map(list.present), note };
    }),
    list.columns,
  );
  return command;
}
