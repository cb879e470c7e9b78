import { formatDuration, parseDuration } from '../src/platform/duration.js';

/**
 * A ladder as a delivery's row keeps it: `0s,5m,30m,2h,6h,1d`. Text, because it is shorter than an array of numbers.
 */
export function ladderToText(ladder: readonly number[]): string {
  return ladder.map((delay) => formatDuration(delay)).join();
}

/** Reads `ladderToText`. @returns ms */
export function ladderFromText(text: string): readonly number[] {
  return text === '' ? [] : text.split(',').map((delay) => parseDuration(delay) ?? 0);
}

/** The delays of a ladder as the setting writes them: `['0s', '5m', '30m', '2h', '6h', '24h']`. */
export function formatLadder(ladder: readonly number[]): string[] {
  return ladder.map((delay) => formatDuration(delay, 'h'));
}
