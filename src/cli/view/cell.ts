/** A value to show; null where there is none. */
export type Cell = string | number | Date | null;

/** In one line, and harmless: what clients and receivers have written must not steer the operator's terminal. */
export function cellText(cell: Cell, time: (at: Date) => string): string {
  if (cell === null) return '';
  if (cell instanceof Date) return time(cell);
  return String(cell)
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}

export const isoTime = (at: Date): string => at.toISOString();
