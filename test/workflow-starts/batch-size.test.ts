import { BatchSize } from '../../src/workflow-starts/batch-size.js';

const batches = (size: BatchSize, count: number) => Array.from({ length: count }, () => size.next(false, 0));

describe('BatchSize', () => {
  it('doubles from 2 to 50, at first and after each reset', () => {
    const size = new BatchSize();
    expect(batches(size, 7)).toEqual([2, 4, 8, 16, 32, 50, 50]);
    size.reset();
    expect(batches(size, 2)).toEqual([2, 4]);
  });

  it('allows two starts in 250 ms while the lane is busy, and does not wait when it is not', () => {
    const size = new BatchSize();
    batches(size, 5);
    expect([size.wait(true, 1_000), size.next(true, 1_000)]).toEqual([0, 2]);
    expect(size.wait(true, 1_100)).toBe(150);
    expect([size.wait(true, 1_250), size.next(true, 1_250)]).toEqual([0, 2]);
    expect([size.wait(false, 1_251), size.next(false, 1_251)]).toEqual([0, 4]);
  });
});
