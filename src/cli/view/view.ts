import { cellText, isoTime } from './cell.js';
import { type Fields, layFields } from './fields.js';
import type { Screen } from './screen.js';
import { layTable, type Table } from './table.js';

/** The output of a command for people. */
export type View = string | Table | Fields | readonly View[];

/**
 * The view as text. On a terminal it is laid out for reading. Elsewhere it is made for `grep` and `cut`: each row of a
 * table is one line with cells separated by tabs, exact times, no headers, and nothing that depends on other rows.
 */
export function render(view: View, screen: Screen | undefined): string {
  if (typeof view === 'string') return view;
  if ('fields' in view) return layFields(view, screen);
  if (!('rows' in view)) return view.map((part) => render(part, screen)).join('\n\n');
  if (view.rows.length === 0) return view.none;
  if (screen) return layTable(view, screen);
  return view.rows.map((row) => row.map((cell) => cellText(cell, isoTime)).join('\t')).join('\n');
}
