import stringWidth from 'string-width';
import { harmless } from '../../clients/typescript/src/cli/harmless.js';
import { relativeTime } from '../platform/duration.js';

/**
 * What tables show: of a list, these fields of each item; of an object, those of each list in it that is named here.
 */
export type Columns = readonly string[] | Readonly<Record<string, readonly string[]>>;

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

type Row = Readonly<Record<string, unknown>>;

/**
 * JSON for people: a list as a table, an object as fields and tables. Outside a terminal a table is made for `grep` and
 * `cut`: each row is one line with cells separated by tabs, exact times, no headers, and nothing that depends on other
 * rows.
 */
export function render(json: Row | Row[], columns: Columns, screen: Screen | undefined): string {
  if (Array.isArray(json)) return layTable(json, columns as readonly string[], screen);
  const tables = Object.entries(columns).filter(([name]) => String(json[name] ?? '') !== '');
  const names = Object.keys(json).filter((name) => !tables.some(([table]) => table === name));
  return [
    layFields(json, names, screen),
    ...tables.map(([name, shown]) => `${name}:\n${layTable([json[name]].flat() as Row[], shown, screen)}`),
  ].join('\n\n');
}

type Time = (at: string) => string;

/** A value in one line, harmless to a terminal. */
function cellText(row: Row, name: string, time: Time): string {
  const value = valueAt(row, name);
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return TIME.test(text) ? time(text) : harmless(text, name === 'response_body' ? BODY_SHOWN : undefined);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Characters of a response's body that are shown. `--json` has it whole. */
const BODY_SHOWN = 500;

const exact: Time = (at) => at;
const shortIn =
  (now: Date): Time =>
  (at) =>
    relativeTime(new Date(at), now);
/** The distance from now and the time to the second: `in 4 min (2026-11-21T10:04:00Z)`. */
const fullIn =
  (now: Date): Time =>
  (at) =>
    `${shortIn(now)(at)} (${at.replace(/\.\d+/, '')})`;

/** One line for each field, with aligned values. */
function layFields(row: Row, names: readonly string[], screen: Screen | undefined): string {
  const indent = Math.max(...names.map((name) => name.length)) + 2;
  const time = screen ? fullIn(screen.now) : exact;
  return names.map((name) => name.padEnd(indent) + (cellText(row, name, time) || '–')).join('\n');
}

/** Spaces between two columns. */
const GAP = '  ';
/** The last column may be wider: the terminal wraps it. */
const MIN_LAST_WIDTH = 20;

/**
 * A table with headers and aligned columns, without those that are empty, if it fits into the terminal with exact times
 * or with short ones. If it does not, each row is a list of fields.
 */
function layTable(rows: readonly Row[], columns: readonly string[], screen: Screen | undefined): string {
  const textsOf = (names: readonly string[], time: Time) =>
    rows.map((row) => names.map((name) => cellText(row, name, time)));
  if (rows.length === 0) return 'none';
  if (!screen)
    return textsOf(columns, exact)
      .map((cells) => cells.join('\t'))
      .join('\n');
  const used = columns.filter((name) => rows.some((row) => cellText(row, name, exact) !== ''));
  for (const time of [fullIn(screen.now), shortIn(screen.now)]) {
    const lines = [used.map((name) => name.replace(/^.*\./, '').toUpperCase()), ...textsOf(used, time)];
    const widths = used.slice(0, -1).map((_, i) => Math.max(...lines.map((cells) => stringWidth(cells[i] ?? ''))));
    const before = widths.reduce((sum, width) => sum + width + GAP.length, 0);
    if (before + MIN_LAST_WIDTH <= screen.width) return lines.map((cells) => alignedTo(widths, cells)).join('\n');
  }
  return rows.map((row) => layFields(row, used, screen)).join('\n\n');
}

/** @param path `last_attempt.error`: the field of an object in the row */
function valueAt(row: Row, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as Row | null | undefined)?.[name], row);
}

function alignedTo(widths: readonly number[], cells: readonly string[]): string {
  return cells
    .map((cell, i) => cell + ' '.repeat(Math.max(0, (widths[i] ?? 0) - stringWidth(cell))))
    .join(GAP)
    .trimEnd();
}
