import { cellText, isoTime } from './cell.js';
import { type Fields, layFields } from './fields.js';
import type { Screen } from './screen.js';
import { layTable, type Table } from './table.js';

/** What a command shows to people. */
export type View = string | Table | Fields | readonly View[];

/**
 * As text: laid out for the eye on a terminal; elsewhere for grep and cut, a row of a table being a line, its cells
 * separated by tabs, with exact times and without headers or anything that depends on the other rows.
 */
export function render(view: View, screen: Screen | undefined): string {
  if (typeof view === 'string') return view;
  if ('fields' in view) return layFields(view, screen);
  if (!('rows' in view)) return view.map((part) => render(part, screen)).join('\n\n');
  if (view.rows.length === 0) return view.none;
  if (screen) return layTable(view, screen);
  return view.rows.map((row) => row.map((cell) => cellText(cell, isoTime)).join('\t')).join('\n');
}
