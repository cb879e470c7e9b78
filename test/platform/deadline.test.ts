import { beforeAll, expect, jest, test } from '@jest/globals';
import { handOverAfterCommit } from '../../src/delivery/append.js';
import { openDatabase } from '../../src/platform/database/database.js';
import { DeadlinePassed, withDeadline } from '../../src/platform/deadline.js';
import { openTestDatabase } from '../support/database.js';

const database = await openTestDatabase();
beforeAll(async () => {
  await database.query('create table made (name text)', []);
});

const made = async () => (await database.query<{ name: string }>('select name from made', [])).map(({ name }) => name);

/** Inserts a row when the deadline of its request has passed. */
async function changeLate(name: string, wait: 'before the transaction' | 'in the transaction'): Promise<unknown> {
  const { promise: late, resolve: passed } = Promise.withResolvers<void>();
  let change: Promise<unknown> | undefined;
  const response = withDeadline(100, () => {
    change = (async () => {
      if (wait === 'before the transaction') await late;
      await database.transaction(async (tx) => {
        await tx.query('insert into made values ($1) returning name', [name]);
        if (wait === 'in the transaction') await late;
      });
    })();
    return change;
  });
  await expect(response).rejects.toThrow(DeadlinePassed);
  passed();
  return change?.catch((error: unknown) => error);
}

test.each(['before the transaction', 'in the transaction'] as const)(
  'a request that was answered at its deadline commits nothing later (late %s)',
  async (wait) => {
    expect(await changeLate(wait, wait)).toBeInstanceOf(DeadlinePassed);
    expect(await made()).toEqual([]);
  },
);

// Timers count whole milliseconds, so one may fire before the deadline by the clock.
test('a request that was answered just before its deadline by the clock commits nothing later', async () => {
  const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  try {
    expect(await changeLate('early', 'in the transaction')).toBeInstanceOf(DeadlinePassed);
  } finally {
    clock.mockRestore();
  }
  expect(await made()).toEqual([]);
});

test('a transaction that gets its turn from a late request has the deadline of its own request', async () => {
  const two = openDatabase({ url: database.url, poolSize: 2 });
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const first = withDeadline(100, () => two.transaction(() => held));
  const second = withDeadline(60_000, () => two.transaction((tx) => tx.query('select 42 as answer', [])));
  await expect(first).rejects.toThrow(DeadlinePassed);
  release();
  expect(await second).toEqual([{ answer: 42 }]);
  await two.close();
});

test('a request in time commits, and so does work outside any request', async () => {
  const insert = (name: string) =>
    database.transaction((tx) => tx.query('insert into made values ($1) returning name', [name]));
  await withDeadline(60_000, () => insert('in time'));
  await insert('of no request');
  expect(await made()).toEqual(['in time', 'of no request']);
});

// In one process with the API, a 410 after the deadline of the request that had made the event disabled no endpoint.
test('delivering an event is not bound by the deadline of the request that made it', async () => {
  const { promise: late, resolve: passed } = Promise.withResolvers<void>();
  let delivered: Promise<unknown> = Promise.resolve();
  const committed = () => {
    delivered = late.then(() => database.transaction((tx) => tx.query('select 42 as answer', [])));
    return undefined;
  };
  const event = { eventId: 'e', body: '{}', traceparent: null, clientId: 'c', deliveries: [], leasedAt: 0 };
  const request = withDeadline(100, async () => {
    await database.transaction(async (tx) => handOverAfterCommit(tx, { committed }, event));
    await late;
  });
  await expect(request).rejects.toThrow(DeadlinePassed);
  passed();
  expect(await delivered).toEqual([{ answer: 42 }]);
});
