import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { harmless } from '../../clients/typescript/src/cli/harmless.js';
import { relativeTime } from '../platform/duration.js';

/** The output of a command for people. */
export type View = string | Table | Fields | readonly View[];

/**
 * The view as text. On a terminal it is laid out for reading. Elsewhere it is made for `grep` and `cut`: each row of a
 * table is one line with cells separated by tabs, exact times, no headers, and nothing that depends on other rows.
 */
export function render(view: View, screen: Screen | undefined): string {
  if (typeof view === 'string') return view;
  if ('fields' in view) return layFields(view.fields, screen);
  if (!('rows' in view)) return view.map((part) => render(part, screen)).join('\n\n');
  if (view.rows.length === 0) return view.none;
  if (screen) return layTable(view, screen);
  return view.rows
    .map((row) =>
      Object.values(row)
        .map((cell) => cellText(cell, isoTime))
        .join('\t'),
    )
    .join('\n');
}

/** The terminal that shows the output. */
export interface Screen {
  /** In columns. */
  width: number;
  now: Date;
}

/** Undefined if standard output is not a terminal. */
export function screenHere(): Screen | undefined {
  // A terminal of unknown size reports 0 columns.
  return process.stdout.isTTY ? { width: process.stdout.columns || 80, now: new Date() } : undefined;
}

/** A value to show; null if there is none. */
export type Cell = string | number | Date | null;

/** The cell's text in one line, harmless to a terminal. */
function cellText(cell: Cell, time: (at: Date) => string): string {
  if (cell === null) return '';
  if (cell instanceof Date) return time(cell);
  return harmless(String(cell));
}

export const isoTime = (at: Date): string => at.toISOString();

/** The distance from now and the time to the second: `in 4 min (2026-11-21T10:04:00Z)`. */
export function fullTime(time: Date, now: Date): string {
  return `${relativeTime(time, now)} (${time.toISOString().replace(/\.\d+Z$/, 'Z')})`;
}

type Row = Readonly<Record<string, Cell>>;

/** The named values of one object. */
export interface Fields {
  fields: Row;
}

/** The smallest width of a value: wrapping below it makes a value harder to read. */
const MIN_WIDTH = 20;

/** One line for each field, with aligned values. Values are wrapped only on a terminal. */
function layFields(fields: Row, screen: Screen | undefined): string {
  const entries = Object.entries(fields);
  const indent = Math.max(...entries.map(([name]) => name.length)) + 2;
  const time = screen ? (at: Date) => fullTime(at, screen.now) : isoTime;
  return entries
    .map(([name, value]) => {
      const text = cellText(value, time) || '–';
      const lines = screen ? wrapAnsi(text, Math.max(screen.width - indent, MIN_WIDTH), { hard: true }) : text;
      return name.padEnd(indent) + lines.replaceAll('\n', `\n${' '.repeat(indent)}`);
    })
    .join('\n');
}

/** Rows with the same names, which head the columns. They may be the rows that `--json` prints. */
export interface Table {
  rows: readonly Row[];
  /** Columns that may wrap on a narrow terminal. Others never do: an id on two lines cannot be copied. */
  wraps?: readonly string[];
  /** The text for a table without rows. */
  none: string;
}

/** Spaces between two columns. */
const GAP = 2;
/** The smallest width of a wrapped column, unless it contains a longer word with an id. */
const MIN_COLUMN_WIDTH = 16;
/** A word with an id, such as `client_id=…`. A URL is no such word. */
const WITH_ID = /(?<!\S)[^\s/]*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[^\s/]*(?!\S)/g;

/**
 * A table with headers and aligned columns that is at most as wide as the terminal. If wrapping does not make it fit,
 * each row becomes a list of fields.
 */
function layTable({ rows, wraps = [] }: Table, screen: Screen): string {
  const used = Object.keys(rows[0] ?? {}).filter((name) => rows.some((row) => (row[name] ?? '') !== ''));
  const shown = rows.map((row) => Object.fromEntries(used.map((name) => [labelOf(name), row[name] ?? null])));
  const texts = (time: (at: Date, now: Date) => string) => [
    used.map((name) => labelOf(name).toUpperCase()),
    ...shown.map((row) => Object.values(row).map((cell) => cellText(cell, (at) => time(at, screen.now)))),
  ];
  const [exact, short] = [texts(fullTime), texts(relativeTime)];
  const rigid = used.map(() => false);
  for (const [lines, rules] of [
    [exact, rigid],
    [short, rigid],
    [short, used.map((name) => wraps.includes(name))],
  ] as const) {
    const widths = widthsWithin(lines, rules, screen.width);
    if (widths) return lines.map((line) => layRow(line, widths)).join('\n');
  }
  return shown.map((row) => layFields(row, screen)).join('\n\n');
}

/** `next_attempt_at` as people read it. */
const labelOf = (name: string) => name.replace(/_(id|at)$/, '').replaceAll('_', ' ');

/** The widths of the columns; undefined if they do not fit into `width`. */
function widthsWithin(lines: readonly string[][], wraps: readonly boolean[], width: number): number[] | undefined {
  const widths = wraps.map((_, i) => Math.max(...lines.map((line) => stringWidth(line[i] ?? ''))));
  const smallest = wraps.map((_, i) => Math.max(MIN_COLUMN_WIDTH, ...lines.map((line) => widthOfIds(line[i] ?? ''))));
  const available = width - GAP * (wraps.length - 1);
  while (widths.reduce((sum, one) => sum + one, 0) > available) {
    const wrapping = widths.map((one, i) => (wraps[i] && one > (smallest[i] ?? 0) ? one : 0));
    const widest = Math.max(...wrapping);
    if (widest === 0) return undefined;
    widths[wrapping.indexOf(widest)] = widest - 1;
  }
  return widths;
}

/** The width of the longest word with an id. */
function widthOfIds(text: string): number {
  return Math.max(0, ...(text.match(WITH_ID) ?? []).map((word) => stringWidth(word)));
}

function layRow(texts: readonly string[], widths: readonly number[]): string {
  const cells = texts.map((text, i) => wrapAnsi(text, widths[i] ?? 0, { hard: true }).split('\n'));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, y) =>
    cells
      .map((lines, i) => pad(lines[y] ?? '', widths[i] ?? 0))
      .join(' '.repeat(GAP))
      .trimEnd(),
  ).join('\n');
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}

/** The status of an attempt's response (`503`), the error if there was none (`timeout`), or both (`302 redirect`). */
export function outcomeOf({ responseStatus, error }: { responseStatus: number | null; error: string | null }): string {
  return [responseStatus, error === 'status' ? null : error].filter((part) => part !== null).join(' ');
}

/** The rows of a page, and a note if there are more. @param found one row more than `limit`, if there are more */
export function pageOf<Found extends { id: string }>(found: readonly Found[], limit: number) {
  const shown = found.slice(0, limit);
  const more = found.length > shown.length;
  return { shown, note: more ? `there are more; next page: --cursor ${shown.at(-1)?.id}` : undefined };
}
