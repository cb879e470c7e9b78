/** The years of ISO 8601 with four digits, without the year 0, which Postgres does not have. ms since 1970 */
export const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** Whether Postgres and ISO 8601 can write a time. An offset can move a time of the year 9999 beyond it. */
export function isWritable(at: number): boolean {
  return at >= EARLIEST && at <= LATEST;
}

/**
 * The time that the parts of a text in ISO 8601 name.
 * @param day `2026-11-21` @param time `10:00`, with or without seconds and a fraction @param zone `Z` or `+02:00`
 * @returns ms since 1970; undefined if there is no such time, or if it is not in the years 1 to 9999 in UTC
 */
export function timeOfParts(day: string, time = '00:00', zone = 'Z'): number | undefined {
  const at = Date.parse(`${day}T${time}${zone}`);
  if (!isWritable(at)) return undefined;
  // `Date` reads 31 November as 1 December, and 24:00 as the next day.
  const exists = new Date(`${day}T00:00Z`).toISOString().startsWith(day) && !time.startsWith('24');
  return exists ? at : undefined;
}
