import { Batcher } from '../../../src/platform/database/batcher.js';
import { withDeadline } from '../../../src/platform/deadline.js';
import { waitFor } from '../../support/wait-for.js';

const refusedData = Object.assign(new Error('invalid byte sequence'), { code: '22021' });
const lostConnection = Object.assign(new Error('connection terminated'), { code: '08006' });

interface Opening {
  concurrency?: number;
  gather?: number;
  wait?: number;
  longest?: number;
}

function open(run: (items: readonly number[]) => Promise<readonly number[]>, opening: Opening = {}) {
  const batches: number[][] = [];
  const batcher = new Batcher<number, number>({
    size: 10,
    ...{ concurrency: 1, gather: 0, wait: 5_000, ...opening },
    run: (items) => {
      batches.push([...items]);
      return run(items);
    },
  });
  return { batcher, batches };
}

/** A batcher whose batches wait for `release`. */
function openHeld(opening?: Opening) {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  return { ...open((items) => held.then(() => double(items)), opening), release };
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
    const { batcher, batches, release } = openHeld();
    const first = batcher.run(1);
    await new Promise(setImmediate);
    const others = [2, 3].map((item) => batcher.run(item));
    await new Promise(setImmediate);
    release();
    expect(await Promise.all([first, ...others])).toEqual([2, 4, 6]);
    expect(batches).toEqual([[1], [2, 3]]);
  });

  it('begins no batch soon after another, unless it is full', async () => {
    const { batcher, batches } = open(double, { concurrency: 2, gather: 3_600_000 });
    expect(await batcher.run(0)).toBe(0);
    const results = numbers(9).map((item) => batcher.run(item));
    await new Promise(setImmediate);
    expect(batches).toEqual([[0]]);
    results.push(batcher.run(9));
    expect(await Promise.all(results)).toEqual(numbers(10).map((item) => item * 2));
    expect(batches.map((batch) => batch.length)).toEqual([1, 10]);
  });

  it('runs further batches beside one that Postgres delays', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const holdUp = (items: readonly number[]) => (items.includes(1) ? held.then(() => double(items)) : double(items));
    const { batcher, batches } = open(holdUp, { concurrency: 2, gather: 5 });
    const first = batcher.run(1);
    await new Promise(setImmediate);
    expect(await Promise.all([2, 3].map((item) => batcher.run(item)))).toEqual([4, 6]);
    expect(await batcher.run(4)).toBe(8);
    expect(batches).toEqual([[1], [2, 3], [4]]);
    release();
    expect(await first).toBe(2);
  });

  it('runs each item alone if Postgres rejects the data of a batch, so that one item does not fail the others', async () => {
    const { batcher } = open((items) => (items.includes(3) ? Promise.reject(refusedData) : double(items)));
    const results = await Promise.allSettled([1, 2, 3].map((item) => batcher.run(item)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });

  it('does not rerun a batch that may have committed, and rejects its items', async () => {
    const { batcher, batches } = open(() => Promise.reject(lostConnection));
    const results = await Promise.allSettled([1, 2].map((item) => batcher.run(item)));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(1);
  });

  it('runs no item whose request has less time left than a batch may take', async () => {
    const { batcher, batches } = open(double, { longest: 1_000 });
    await expect(withDeadline(900, () => batcher.run(1))).rejects.toThrow('no statement began in time');
    expect(batches).toEqual([]);
  });

  it('never runs an item that has waited too long for the batches before it', async () => {
    const { batcher, batches, release } = openHeld({ wait: 1_000 });
    const first = batcher.run(1);
    await new Promise(setImmediate);
    const late = batcher.run(2);
    const since = performance.now();
    await waitFor('the item to be late', () => performance.now() - since > 1_010);
    release();
    await expect(late).rejects.toThrow('no statement began in time');
    expect([await first, await batcher.run(3)]).toEqual([2, 6]);
    expect(batches).toEqual([[1], [3]]);
  });

  it('runs later batches after a fault', async () => {
    let broken = true;
    const { batcher } = open((items) => (broken ? Promise.reject(lostConnection) : double(items)));
    await expect(batcher.run(1)).rejects.toBe(lostConnection);
    broken = false;
    expect(await batcher.run(1)).toBe(2);
  });
});
