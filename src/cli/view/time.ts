import { relativeTime } from '../../relative-time.js';

/** The distance from now and the time to the second: `in 4 min (2026-11-21T10:04:00Z)`. */
export function fullTime(time: Date, now: Date): string {
  return `${relativeTime(time, now)} (${time.toISOString().replace(/\.\d+Z$/, 'Z')})`;
}
