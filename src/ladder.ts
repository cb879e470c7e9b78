import { formatDuration } from './duration.js';

/**
 * The retry ladder (spec §6, Retries): after attempt n, counted from the ladder's start, comes a wait of `delays[n - 1]`
 * ms; after the last there is none. Pure: workflows use it too.
 */
export function delayAfter(delays: readonly number[], attempt: number): number | null {
  return delays[attempt - 1] ?? null;
}

/** The delays of a ladder as the spec writes them (spec §8): `['0s', '5m', '30m', '2h', '6h', '24h']`. */
export function formatLadder(ladder: readonly number[]): string[] {
  return ladder.map((delay) => formatDuration(delay, 'h'));
}
