import { estimateSeconds } from '../../bench/estimate.js';
import { type Options, readOptions, SCENARIOS } from '../../bench/options.js';

const read = (...args: string[]) => readOptions(args) as Options;

describe('options of the bench', () => {
  it('select all scenarios but the overload, five rounds and both kinds of Temporal by default', () => {
    const options = read();
    expect([...options.only]).toEqual(SCENARIOS.filter((name) => name !== 'overload'));
    expect([options.rounds, options.temporal]).toEqual([5, ['dev', 'postgres']]);
  });

  it('give each scenario an estimate', () => {
    for (const scenario of SCENARIOS) expect(estimateSeconds(scenario, read())).toBeGreaterThan(1);
    const slow = estimateSeconds('workflows', read());
    expect(estimateSeconds('workflows', read('--temporal', 'dev'))).toBe(slow / 2);
  });

  it('name the wrong value', () => {
    expect(() => read('--only', 'burst,floor')).toThrow('--only: floor is none of throughput, burst');
    expect(() => read('--temporal', 'sqlite')).toThrow('--temporal: sqlite is none of dev, postgres');
    expect(() => read('--rounds', '0')).toThrow('--rounds: give a whole number from 1, not 0');
  });

  it('list themselves', () => {
    expect(readOptions(['--help'])).toMatch(/--only .*throughput,burst/);
  });
});
