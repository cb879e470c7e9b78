import { Batcher } from '../../src/database/batcher.js';

const refusedData = Object.assign(new Error('invalid byte sequence'), { code: '22021' });
const lostConnection = Object.assign(new Error('connection terminated'), { code: '08006' });

function open(run: (items: readonly number[]) => Promise<readonly number[]>, concurrency = 1) {
  const batches: number[][] = [];
  const batcher = new Batcher<number, number>({
    size: 10,
    concurrency,
    run: (items) => {
      batches.push([...items]);
      return run(items);
    },
  });
  return { batcher, batches };
}
const double = async (items: readonly number[]) => items.map((item) => item * 2);
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

describe('Batcher', () => {
  it('runs items that arrive together in batches of at most `size`, and returns each its own result', async () => {
    const { batcher, batches } = open(double);
    const results = await Promise.all(numbers(25).map((item) => batcher.run(item)));
    expect(results).toEqual(numbers(25).map((item) => item * 2));
    expect(batches.map((batch) => batch.length)).toEqual([10, 10, 5]);
  });

  it('collects the items that arrive while a batch runs', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { batcher, batches } = open(async (items) => {
      await held;
      return double(items);
    });
    const first = batcher.run(1);
    await new Promise(setImmediate);
    const others = [2, 3].map((item) => batcher.run(item));
    await new Promise(setImmediate);
    release();
    expect(await Promise.all([first, ...others])).toEqual([2, 4, 6]);
    expect(batches).toEqual([[1], [2, 3]]);
  });

  it('runs each item alone if Postgres refuses the data of a batch, so that one item does not fail the others', async () => {
    const { batcher } = open((items) => (items.includes(3) ? Promise.reject(refusedData) : double(items)));
    const results = await Promise.allSettled([1, 2, 3].map((item) => batcher.run(item)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });

  it('does not run a batch again that may be committed, and rejects its items', async () => {
    const { batcher, batches } = open(() => Promise.reject(lostConnection));
    const results = await Promise.allSettled([1, 2].map((item) => batcher.run(item)));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(1);
  });

  it('runs later batches after a fault', async () => {
    let broken = true;
    const { batcher } = open((items) => (broken ? Promise.reject(lostConnection) : double(items)));
    await expect(batcher.run(1)).rejects.toBe(lostConnection);
    broken = false;
    expect(await batcher.run(1)).toBe(2);
  });
});
