import { expect, test } from '@jest/globals';
import { isUnreachable } from '../../../src/platform/database/faults.js';
import { transactionTurns } from '../../../src/platform/database/transaction-turns.js';
import { createTestDatabase } from '../../support/database.js';
import { waitFor } from '../../support/wait-for.js';

function signal() {
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give: () => give() };
}

test('a statement gets a connection while more transactions are open than the pool has connections', async () => {
  const database = await createTestDatabase({ poolSize: 4 });
  const end = signal();
  let open = 0;
  const transactions = Array.from({ length: 6 }, () =>
    database.transaction(async (tx) => {
      await tx.query('select 1', []);
      open++;
      await end.given;
      return 'committed';
    }),
  );
  try {
    await waitFor('the transactions to begin', () => open >= 3);
    for (const run of [database.hot, database.query]) {
      expect(await run<{ answer: number }>('select 42 as answer', [])).toEqual([{ answer: 42 }]);
    }
    expect(open).toBe(3);
  } finally {
    end.give();
    expect(await Promise.all(transactions)).toEqual(Array(6).fill('committed'));
    await database.drop();
  }
});

test('a transaction whose turn does not come in time fails as if no connection were free, and never runs', async () => {
  const { runInTurn: inTurn } = transactionTurns(1, 20);
  const end = signal();
  const first = inTurn(() => end.given);
  let ran = false;
  const fault = await inTurn(async () => {
    ran = true;
  }).catch((error: unknown) => error);
  expect([isUnreachable(fault), String(fault)]).toEqual([true, expect.stringContaining('within 20 ms')]);
  end.give();
  await first;
  expect(await inTurn(async () => 'next')).toBe('next');
  expect(ran).toBe(false);
});

test('a transaction that fails gives its turn to the next, and rejects with its own error', async () => {
  const { runInTurn: inTurn } = transactionTurns(1, 5_000);
  const failing = inTurn(() => Promise.reject(new Error('its own')));
  await expect(failing).rejects.toThrow('its own');
  expect(await inTurn(async (remaining) => remaining > 4_000)).toBe(true);
});

test("one client's transactions hold at most half of the turns, and one turn stays free for other clients", async () => {
  const { runInTurn: inTurn } = transactionTurns(4, 60_000);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (name: string, client?: string) =>
    inTurn(async () => {
      begun.push(name);
      const end = signal();
      ends.push(end.give);
      await end.given;
    }, client);
  const runs = [run('a1', 'a'), run('a2', 'a'), run('a3', 'a'), run('b1', 'b'), run('b2', 'b')];
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  runs.push(run('c1', 'c'), run("no client's"));
  expect(begun.splice(0)).toEqual(['a1', 'a2', 'b1', 'c1']);
  for (const end of ends.splice(0)) end();
  await waitFor('the others', () => begun.length === 3);
  expect(begun.sort()).toEqual(['a3', 'b2', "no client's"]);
  for (const end of ends) end();
  await Promise.all(runs);
});
