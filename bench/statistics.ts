/** The value below which `share` of the sorted values lie; NaN of none. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/**
 * The median of each column over the rounds; the sum of columns that must be zero (`summed`).
 */
export function overRounds<Column extends string>(
  rounds: readonly Record<Column, number>[],
  summed: readonly Column[] = [],
): Record<Column, number> {
  const columns = Object.keys(rounds[0] ?? {}) as Column[];
  const of = (column: Column) => rounds.map((round) => round[column]);
  const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0);
  return Object.fromEntries(
    columns.map((column) => [column, summed.includes(column) ? total(of(column)) : median(of(column))]),
  ) as Record<Column, number>;
}
