import type { Figures } from '../../bench/measure.js';
import { column, cpuOfEvents, floorTable, ratios, tablesOf } from '../../bench/rounds.js';
import { median } from '../../bench/statistics.js';

const round = (rate: number, lost = 0): Figures => ({
  speed: { 'delivered/s': rate, lost },
  cost: { 'service ms': 1, 'postgres ms': 0.5, 'temporal ms': 9 },
});

describe('rounds of the bench', () => {
  it('form ratios between neighbours, so that a slow minute of the machine does not count', () => {
    const ours = column([round(900), round(450), round(800)], 'delivered/s');
    const found = ratios(ours, [1_000, 500, 1_000]);
    expect(found).toEqual([0.9, 0.9, 0.8]);
    expect(median(found)).toBe(0.9);
    // The ratio of the medians would be another.
    expect(median(ours) / median([1_000, 500, 1_000])).toBe(0.8);
  });

  it('have no ratio for a figure that is missing', () => {
    expect(ratios(column([round(900)], 'unknown'), [1])).toEqual([Number.NaN]);
    expect(ratios([1, 2], [1])).toEqual([1, Number.NaN]);
  });

  it('sum the CPU of only the named processes that ran', () => {
    expect(
      cpuOfEvents([round(1).cost, { 'api ms': 2, 'worker ms': 3 }], ['service', 'api', 'worker', 'postgres']),
    ).toEqual([1.5, 5]);
  });

  it('become tables of medians, in which every lost event counts', () => {
    const [speed, cost] = tablesOf('Throughput', [['retries-only', [round(1), round(3, 2), round(2)]]]);
    expect(speed?.rows).toEqual([{ what: 'retries-only', 'delivered/s': 2, lost: 2 }]);
    expect(speed?.rounds).toHaveLength(3);
    expect(cost?.rows[0]).toMatchObject({ what: 'retries-only', 'service ms': 1 });
    const floor = floorTable('Floor', [['bare loop', [{ 'events/s': 4 }, { 'events/s': 2 }]]]);
    expect(floor.rows).toEqual([{ what: 'bare loop', 'events/s': 3 }]);
  });
});
