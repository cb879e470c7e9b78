import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { relativeTime } from '../../relative-time.js';
import { type Cell, cellText } from './cell.js';
import { layFields } from './fields.js';
import type { Screen } from './screen.js';
import { fullTime } from './time.js';

export interface Column {
  name: string;
  /** The column may wrap on a narrow terminal. Other columns never wrap: an id on two lines cannot be copied. */
  wraps?: true;
}

export interface Table {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  /** The text for a table without rows. */
  none: string;
}

/** Spaces between two columns. */
const GAP = 2;
/** The smallest width of a wrapped column, unless it contains a longer word with an id. */
const MIN_WIDTH = 16;
/** A word with an id, such as `client_id=…`. A URL is no such word. */
const WITH_ID = /(?<!\S)[^\s/]*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[^\s/]*(?!\S)/g;

/**
 * A table with headers and aligned columns that is at most as wide as the terminal. If wrapping does not make it fit,
 * each row becomes a list of fields.
 */
export function layTable({ columns, rows }: Table, screen: Screen): string {
  const used = columns.map((_, i) => i).filter((i) => rows.some((row) => (row[i] ?? '') !== ''));
  const shown = used.map((i) => columns[i]).filter((column) => column !== undefined);
  const cells = rows.map((row) => used.map((i) => row[i] ?? null));
  const header = shown.map(({ name }) => name.toUpperCase());
  const texts = (time: (at: Date, now: Date) => string) => [
    header,
    ...cells.map((row) => row.map((cell) => cellText(cell, (at) => time(at, screen.now)))),
  ];
  const [exact, short] = [texts(fullTime), texts(relativeTime)];
  const rigid = shown.map(({ name }) => ({ name }));
  for (const [lines, rules] of [
    [exact, rigid],
    [short, rigid],
    [short, shown],
  ] as const) {
    const widths = widthsWithin(lines, rules, screen.width);
    if (widths) return lines.map((line) => layRow(line, widths)).join('\n');
  }
  return cells
    .map((row) => layFields({ fields: shown.map(({ name }, i) => [name, row[i] ?? null]) }, screen))
    .join('\n\n');
}

/** The widths of the columns; undefined if they do not fit into `width`. */
function widthsWithin(lines: readonly string[][], columns: readonly Column[], width: number): number[] | undefined {
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => stringWidth(line[i] ?? ''))));
  const smallest = columns.map((_, i) => Math.max(MIN_WIDTH, ...lines.map((line) => widthOfIds(line[i] ?? ''))));
  const available = width - GAP * (columns.length - 1);
  while (widths.reduce((sum, one) => sum + one, 0) > available) {
    const wrapping = widths.map((one, i) => (columns[i]?.wraps && one > (smallest[i] ?? 0) ? one : 0));
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
