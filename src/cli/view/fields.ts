import wrapAnsi from 'wrap-ansi';
import { type Cell, cellText, isoTime } from './cell.js';
import type { Screen } from './screen.js';
import { fullTime } from './time.js';

/** The named values of one object. */
export interface Fields {
  fields: readonly (readonly [name: string, value: Cell])[];
}

/** The smallest width of a value: wrapping below it makes a value harder to read. */
const MIN_WIDTH = 20;

/** One line for each field, with aligned values. Values are wrapped only on a terminal. */
export function layFields({ fields }: Fields, screen: Screen | undefined): string {
  const indent = Math.max(...fields.map(([name]) => name.length)) + 2;
  const time = screen ? (at: Date) => fullTime(at, screen.now) : isoTime;
  return fields
    .map(([name, value]) => {
      const text = cellText(value, time) || '–';
      const lines = screen ? wrapAnsi(text, Math.max(screen.width - indent, MIN_WIDTH), { hard: true }) : text;
      return name.padEnd(indent) + lines.replaceAll('\n', `\n${' '.repeat(indent)}`);
    })
    .join('\n');
}
