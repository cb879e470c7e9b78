/** `12034` → `12,034` */
export function countText(count: number): string {
  return count.toLocaleString('en');
}

/** `1 delivery`, `12,034 deliveries` */
export function countOf(count: number, singular: string, plural: string): string {
  return `${countText(count)} ${count === 1 ? singular : plural}`;
}

/** ms for people: `85 ms`, `1.3 s` */
export function durationText(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toPrecision(2)} s`;
}
