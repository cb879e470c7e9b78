import { BatchSize } from '../../src/workflow-starts/batch-size.js';

const rounds = (size: BatchSize, count: number) => Array.from({ length: count }, () => size.next(false, 0));

describe('RoundSize', () => {
  it('begins with few and grows, from the start and after each rest', () => {
    const size = new BatchSize();
    expect(rounds(size, 7)).toEqual([2, 4, 8, 16, 32, 50, 50]);
    size.rested();
    expect(rounds(size, 2)).toEqual([2, 4]);
  });

  it('while the lane is busy lets two through in a quarter of a second; then waits for nothing', () => {
    const size = new BatchSize();
    rounds(size, 5);
    expect([size.wait(true, 1_000), size.next(true, 1_000)]).toEqual([0, 2]);
    expect(size.wait(true, 1_100)).toBe(150);
    expect([size.wait(true, 1_250), size.next(true, 1_250)]).toEqual([0, 2]);
    expect([size.wait(false, 1_251), size.next(false, 1_251)]).toEqual([0, 4]);
  });
});
