const UNITS = [
  { name: 's', seconds: 1, below: 90 },
  { name: 'min', seconds: 60, below: 90 * 60 },
  { name: 'h', seconds: 3_600, below: 48 * 3_600 },
  { name: 'd', seconds: 86_400, below: Number.POSITIVE_INFINITY },
] as const;

/** The distance from now, for people: `in 4 min`, `2 h ago`. */
export function relativeTime(time: Date, now: Date): string {
  const seconds = (time.getTime() - now.getTime()) / 1_000;
  const { name, seconds: size } = UNITS.find(({ below }) => Math.abs(seconds) < below) ?? UNITS[3];
  const count = Math.round(Math.abs(seconds) / size);
  if (count === 0) return 'now';
  return seconds > 0 ? `in ${count} ${name}` : `${count} ${name} ago`;
}
