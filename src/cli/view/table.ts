import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { type Cell, cellText } from './cell.js';
import { layFields } from './fields.js';
import type { Screen } from './screen.js';
import { fullTime, relativeTime } from './time.js';

export interface Column {
  name: string;
  /** May take several lines where there is little room. Others never do: an id in two lines cannot be copied. */
  wraps?: true;
}

export interface Table {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  /** What is said where there are no rows. */
  none: string;
}

/** Between two columns. */
const GAP = 2;
/** A wrapped column is no narrower. */
const LEAST = 16;

/** Aligned, with headers, as wide as the terminal at most; where even wrapping does not help, row by row. */
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

/** The columns' widths; undefined where they do not go into `width`. */
function widthsWithin(lines: readonly string[][], columns: readonly Column[], width: number): number[] | undefined {
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => stringWidth(line[i] ?? ''))));
  const room = width - GAP * (columns.length - 1);
  while (widths.reduce((sum, one) => sum + one, 0) > room) {
    const wrapping = widths.filter((one, i) => columns[i]?.wraps && one > LEAST);
    if (wrapping.length === 0) return undefined;
    const widest = Math.max(...wrapping);
    const i = widths.findIndex((one, at) => columns[at]?.wraps && one === widest);
    widths[i] = widest - 1;
  }
  return widths;
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
