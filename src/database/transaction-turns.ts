import pLimit from 'p-limit';

/** Runs transactions, at most `max` at once. The others wait for their turn. */
export interface TransactionTurns {
  <T>(run: (remaining: number) => Promise<T>): Promise<T>;
  /** Transactions that wait for their turn. */
  readonly waiting: number;
}

/** The error of a transaction that got no turn in time. It has Prisma's code for a pool that has no free connection. */
export class NoTurn extends Error {
  readonly code = 'P2024';
}

/** The least time that a transaction whose turn has come waits for its connection, ms. */
const LEAST_WAIT = 1_000;

/**
 * Keeps some connections of a pool free of transactions. On a busy machine a transaction of several statements holds its
 * connection for long, and a statement behind all of them, such as the read of the signing keys, would be too late.
 * @param max transactions at once
 * @param limit how long a transaction may wait for its turn and its connection, ms; `run` gets the remaining time
 */
export function transactionTurns(max: number, limit: number): TransactionTurns {
  const turns = pLimit(max);
  let waiting = 0;
  const inTurn = <T>(run: (remaining: number) => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      const begun = performance.now();
      let waits = true;
      waiting++;
      const timer = setTimeout(() => {
        waits = false;
        waiting--;
        reject(new NoTurn(`no connection to Postgres was free for a transaction within ${limit} ms`));
      }, limit);
      void turns(async () => {
        if (!waits) return;
        waiting--;
        clearTimeout(timer);
        const remaining = Math.max(LEAST_WAIT, Math.round(limit - (performance.now() - begun)));
        await run(remaining).then(resolve, reject);
      });
    });
  return Object.defineProperty(inTurn, 'waiting', { get: () => waiting }) as TransactionTurns;
}

/** The number of a pool's connections that transactions may hold at once. At least one, and a fifth stays free. */
export const transactionsAtOnce = (poolSize: number): number => Math.max(1, poolSize - Math.ceil(poolSize / 5));
