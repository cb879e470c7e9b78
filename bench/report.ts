import type { Machine } from './machine.js';

type Cell = string | number;
export type Row = Readonly<Record<string, Cell>>;

/** A table. */
export interface Section {
  title: string;
  rows: readonly Row[];
  /** The values behind the medians; in the JSON file only. */
  rounds?: readonly Row[];
}

/** A figure that has a target. */
export interface Verdict {
  what: string;
  value: number;
  target: string;
  met: boolean;
  /** The same figure of the floor, in the same rounds: the least work in this shape. */
  floor?: number | undefined;
}

/** The result of a scenario. */
export interface Outcome {
  sections: Section[];
  verdicts: Verdict[];
}

export interface Report extends Outcome {
  at: string;
  command: string;
  machine: Machine;
}

export const atLeast = (what: string, value: number, bound: number, floor?: number): Verdict => ({
  ...{ what, value, target: `≥ ${bound}`, floor },
  met: value >= bound,
});

export const atMost = (what: string, value: number, bound: number, floor?: number): Verdict => ({
  ...{ what, value, target: `≤ ${bound}`, floor },
  met: value <= bound,
});

/** The report in Markdown, readable in a terminal too. */
export function toMarkdown({ at, command, machine, sections, verdicts }: Report): string {
  const { cpu, cores, memoryGib, node, loadBefore } = machine;
  const head = `\`${command}\`, ${at.slice(0, 10)}: ${cores} cores (${cpu}), ${memoryGib} GiB, Node ${node}; load average before it began ${loadBefore}.`;
  const targets = verdicts.map(({ what, value, target, met, floor = Number.NaN }) => ({
    what,
    value,
    target,
    floor,
    '': met ? 'met' : '**missed**',
  }));
  const tables = [...sections, ...(targets.length > 0 ? [{ title: 'Against the targets', rows: targets }] : [])];
  return [head, ...tables.map(({ title, rows }) => `### ${title}\n\n${table(rows)}`)].join('\n\n');
}

function table(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [columns, ...rows.map((row) => columns.map((column) => write(row[column])))];
  const widths = columns.map((_, i) => Math.max(3, ...lines.map((line) => (line[i] ?? '').length)));
  const numeric = columns.map((column) => rows.every((row) => typeof row[column] !== 'string'));
  const pad = (text: string, i: number) => (numeric[i] ? text.padStart(widths[i] ?? 0) : text.padEnd(widths[i] ?? 0));
  const rule = widths.map((width, i) => (numeric[i] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  const [titles = [], ...body] = lines.map((line) => line.map(pad));
  return [titles, rule, ...body].map((line) => `| ${line.join(' | ')} |`).join('\n');
}

/** Such a measurement is good for three digits. */
function write(cell: Cell | null | undefined): string {
  if (typeof cell === 'string') return cell;
  if (cell === undefined || cell === null || Number.isNaN(cell)) return '–';
  const size = Math.abs(cell);
  return Number.isInteger(cell) ? String(cell) : cell.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
