import wrapAnsi from 'wrap-ansi';
import { type Cell, cellText, isoTime } from './cell.js';
import type { Screen } from './screen.js';
import { fullTime } from './time.js';

/** Names and values of one thing. */
export interface Fields {
  fields: readonly (readonly [name: string, value: Cell])[];
}

/** Narrower than this a value is only harder to read. */
const LEAST = 20;

/** A line for each, the values below one another. Only a terminal's are wrapped. */
export function layFields({ fields }: Fields, screen: Screen | undefined): string {
  const indent = Math.max(...fields.map(([name]) => name.length)) + 2;
  const time = screen ? (at: Date) => fullTime(at, screen.now) : isoTime;
  return fields
    .map(([name, value]) => {
      const text = cellText(value, time) || '–';
      const lines = screen ? wrapAnsi(text, Math.max(screen.width - indent, LEAST), { hard: true }) : text;
      return name.padEnd(indent) + lines.replaceAll('\n', `\n${' '.repeat(indent)}`);
    })
    .join('\n');
}
