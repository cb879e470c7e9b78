import { harmless } from './harmless.js';

/** A value to show; null if there is none. */
export type Cell = string | number | Date | null;

/** The cell's text in one line, harmless to a terminal. */
export function cellText(cell: Cell, time: (at: Date) => string): string {
  if (cell === null) return '';
  if (cell instanceof Date) return time(cell);
  return harmless(String(cell));
}

export const isoTime = (at: Date): string => at.toISOString();
