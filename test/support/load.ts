import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from './caller.js';
import { must } from './caller.js';
import { transferRequest } from './transfers.js';

/** So many transfers, made a few at a time. */
export async function makeTransfers(call: Caller, count: number): Promise<string[]> {
  const ids: string[] = [];
  await atOnce(16, Array(count).fill(0), async () => {
    ids.push((await must(call('POST', '/transfers', transferRequest()))).id);
  });
  return ids;
}

export interface Changes {
  /** Transfers whose change was answered with 200, as the answers come in. */
  acknowledged: string[];
  /** How many got what instead; `0`: no answer at all. */
  others: Record<number, number>;
  /** All have been asked for. */
  done: Promise<void>;
}

/** Asks for one change of status for each transfer, so many at once. A request that finds nobody counts, and is not repeated. */
export function changeAll(call: Caller, ids: readonly string[], status: string, connections = 16): Changes {
  const acknowledged: string[] = [];
  const others: Record<number, number> = {};
  const done = atOnce(connections, ids, async (id) => {
    const answered = await call('POST', `/sandbox/transfers/${id}/status`, { status }).catch(() => ({ status: 0 }));
    if (answered.status === 200) acknowledged.push(id);
    else others[answered.status] = (others[answered.status] ?? 0) + 1;
    // Who is refused does not hammer.
    if (answered.status === 0 || answered.status === 503) await sleep(20);
  });
  return { acknowledged, others, done };
}

/** Works through `items`, at most `width` at once. */
export async function atOnce<Item>(width: number, items: readonly Item[], work: (item: Item) => Promise<void>) {
  let next = 0;
  const worker = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
