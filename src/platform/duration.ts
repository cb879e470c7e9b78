const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A hundred years, ms. Postgres and `Date` can add it to any time near now. */
const LONGEST = 36_500 * UNITS.d;

/** Reads `500ms`, `30s`, `5m`, `2h`, `90d` or `0` as milliseconds, up to `36500d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim());
  if (!match) return text.trim() === '0' ? 0 : undefined;
  const milliseconds = Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
  return milliseconds <= LONGEST ? milliseconds : undefined;
}

/** Writes milliseconds in the largest exact unit, no larger than `largest`: 1800000 → `30m`. */
export function formatDuration(milliseconds: number, largest: keyof typeof UNITS = 'd'): string {
  if (milliseconds === 0) return '0s';
  const units = Object.entries(UNITS).reverse();
  for (const [unit, size] of units) {
    if (size <= UNITS[largest] && milliseconds >= size && milliseconds % size === 0)
      return `${milliseconds / size}${unit}`;
  }
  return `${milliseconds}ms`;
}

const UNITS_FOR_PEOPLE = [
  { name: 's', seconds: 1, below: 90 },
  { name: 'min', seconds: 60, below: 90 * 60 },
  { name: 'h', seconds: 3_600, below: 48 * 3_600 },
  { name: 'd', seconds: 86_400, below: Number.POSITIVE_INFINITY },
] as const;

/** The distance from now, for people: `in 4 min`, `2 h ago`. */
export function relativeTime(time: Date, now: Date): string {
  const seconds = (time.getTime() - now.getTime()) / 1_000;
  const { name, seconds: size } =
    UNITS_FOR_PEOPLE.find(({ below }) => Math.abs(seconds) < below) ?? UNITS_FOR_PEOPLE[3];
  const count = Math.round(Math.abs(seconds) / size);
  if (count === 0) return 'now';
  return seconds > 0 ? `in ${count} ${name}` : `${count} ${name} ago`;
}
