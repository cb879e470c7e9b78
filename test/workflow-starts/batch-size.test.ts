import { BatchSize } from '../../src/workflow-starts/batch-size.js';

const batches = (size: BatchSize, count: number) => Array.from({ length: count }, () => size.next(0, 0));

describe('BatchSize', () => {
  it('doubles from 2 to 50, at first and after each reset', () => {
    const size = new BatchSize();
    expect(batches(size, 7)).toEqual([2, 4, 8, 16, 32, 50, 50]);
    size.reset();
    expect(batches(size, 2)).toEqual([2, 4]);
  });

  it('allows two starts in each pause, and does not wait without one', () => {
    const size = new BatchSize();
    batches(size, 5);
    expect([size.wait(250, 1_000), size.next(250, 1_000)]).toEqual([0, 2]);
    expect(size.wait(250, 1_100)).toBe(150);
    expect(size.wait(1_000, 1_100)).toBe(900);
    expect([size.wait(250, 1_250), size.next(250, 1_250)]).toEqual([0, 2]);
    expect([size.wait(0, 1_251), size.next(0, 1_251)]).toEqual([0, 4]);
  });
});
