import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from './caller.js';
import { accepted } from './caller.js';
import { transferRequest } from './transfers.js';

/** Makes `count` transfers, 16 at a time. */
export async function makeTransfers(call: Caller, count: number): Promise<string[]> {
  const ids: string[] = [];
  await atOnce(16, Array(count).fill(0), async () => {
    ids.push((await accepted(() => call('POST', '/transfers', transferRequest()))).id);
  });
  return ids;
}

export interface Changes {
  /** Transfers whose change got 200, in the order of the responses. */
  acknowledged: string[];
  /** Number of other responses by status; `0`: no response. */
  others: Record<number, number>;
  /** Resolves when every change has been requested. */
  done: Promise<void>;
}

/**
 * Requests one status change for each transfer, `connections` at a time. A failed request is counted and not repeated.
 */
export function changeAll(call: Caller, ids: readonly string[], status: string, connections = 16): Changes {
  const acknowledged: string[] = [];
  const others: Record<number, number> = {};
  const done = atOnce(connections, ids, async (id) => {
    const answered = await call('POST', `/sandbox/transfers/${id}/status`, { status }).catch(() => ({ status: 0 }));
    if (answered.status === 200) acknowledged.push(id);
    else others[answered.status] = (others[answered.status] ?? 0) + 1;
    // A client pauses after an error.
    if (answered.status === 0 || answered.status === 503) await sleep(20);
  });
  return { acknowledged, others, done };
}

/** Runs `work` for each item, at most `width` at a time. */
export async function atOnce<Item>(width: number, items: readonly Item[], work: (item: Item) => Promise<void>) {
  let next = 0;
  const worker = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
