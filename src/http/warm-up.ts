import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../ids.js';
import { changeStatus } from '../transfers/change-status.js';
import type { AppDependencies } from './dependencies.js';
import { hashRequest, respondOnce } from './idempotency.js';

/** ms. A start without Postgres takes this long at most. */
const LIMIT = 3_000;

type Parts = Pick<AppDependencies, 'config' | 'database' | 'masterKeys' | 'handover'>;

/**
 * Opens the connections of the pool and runs the statements of a keyed change on as many as transactions may hold, for a
 * transfer that does not exist, so that it writes nothing. A load balancer sends a new process its full share of the
 * requests at once, and they find open connections, prepared statements and compiled queries. Never rejects, and ends
 * after 3 s at the latest.
 */
export async function warmUp(parts: Parts): Promise<void> {
  const connections = Array.from({ length: parts.config.databasePoolSize });
  const opened = connections.map(() => parts.database.hot('select 1', []));
  const rehearsals = connections.map(() => refusedChange(parts));
  await Promise.race([Promise.allSettled([...opened, ...rehearsals]), sleep(LIMIT, undefined, { ref: false })]);
}

/** A refusal is not kept, and its transaction is rolled back. */
function refusedChange({ database, masterKeys, handover }: Parts): Promise<unknown> {
  const [clientId, key, transferId] = [newId(), newId(), newId()];
  const hashes = hashRequest(masterKeys, 'POST', `/transfers/${transferId}/cancel`, new Uint8Array());
  const change = { transferId, clientId, to: 'CANCELLED', reason: null } as const;
  return respondOnce(
    database,
    { clientId, key, hashes },
    async (tx) => ({ status: 200, headers: {}, body: await changeStatus(tx, handover, change) }),
    (refusal) => {
      throw refusal;
    },
  );
}
