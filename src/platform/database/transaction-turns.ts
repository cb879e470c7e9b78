import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Whether a client that holds `held` units of a shared capacity may take `wanted` more while `free` are left: a client
 * holds no more than is left. A lone client thus gets half of the capacity and n flooding clients get 1/(n + 1) each,
 * so that a client that holds nothing still finds capacity (the dynamic threshold of switches with a shared buffer:
 * Choudhury and Hahne, 1998).
 */
export function withinShare(held: number, wanted: number, free: number): boolean {
  return held + wanted <= free;
}

/**
 * The error of a transaction or a statement that got no turn in time. It has Prisma's code for a pool that has no free
 * connection.
 */
export class NoTurn extends Error {
  readonly code = 'P2024';
}

/** A transaction whose turn has come waits at least for this share of the limit for its connection. */
const LEAST_SHARE = 1 / 5;

interface Waiting {
  client: string | undefined;
  begin(): void;
}

/**
 * Runs transactions, at most `max` at once; the others wait for their turn.
 * Keeps some connections of a pool free of transactions. On a busy machine a transaction of several statements holds
 * its connection for long, and a statement behind all of them, such as the read of the signing keys, would be too late.
 * A client gets its share of the turns: transactions of one client may wait for each other's locks, and would keep all
 * the others out.
 * @param max transactions at once
 * @param limit how long a transaction may wait for its turn and its connection, ms; `run` gets the remaining time
 */
export function transactionTurns(max: number, limit: number) {
  const waiting = new Set<Waiting>();
  const held = new Map<string, number>();
  let free = max;

  function hold(client: string | undefined, turns: number): void {
    free -= turns;
    if (client === undefined) return;
    const total = heldBy(client) + turns;
    if (total > 0) held.set(client, total);
    else held.delete(client);
  }
  const heldBy = (client: string) => held.get(client) ?? 0;

  function beginNext(): void {
    for (const next of waiting) {
      if (free === 0) return;
      if (next.client !== undefined && !withinShare(heldBy(next.client), 1, free)) continue;
      waiting.delete(next);
      hold(next.client, 1);
      next.begin();
    }
  }

  /** @param client whose request needs the transaction; undefined: no client's */
  const runInTurn = <T>(run: (remaining: number) => Promise<T>, client?: string) =>
    new Promise<T>((resolve, reject) => {
      const begun = performance.now();
      // The transaction before it begins this one, and has another request's deadline and trace.
      const runAsCaller = AsyncLocalStorage.bind(run);
      const own: Waiting = {
        client,
        begin() {
          clearTimeout(timer);
          const remaining = Math.round(Math.max(limit * LEAST_SHARE, limit - (performance.now() - begun)));
          void runAsCaller(remaining)
            .then(resolve, reject)
            .finally(() => {
              hold(client, -1);
              beginNext();
            });
        },
      };
      const timer = setTimeout(() => {
        waiting.delete(own);
        reject(new NoTurn(`no connection to Postgres was free for a transaction within ${limit} ms`));
      }, limit);
      waiting.add(own);
      beginNext();
    });
  return {
    runInTurn,
    /** Transactions that wait for their turn. */
    get waiting(): number {
      return waiting.size;
    },
  };
}

/** The number of a pool's connections that transactions may hold at once. At least one, and a fifth stays free. */
export const transactionsAtOnce = (poolSize: number): number => Math.max(1, poolSize - Math.ceil(poolSize / 5));
