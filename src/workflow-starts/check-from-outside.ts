import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor } from '../audit/actor.js';
import type { Environment } from '../config.js';
import type { Database } from '../database/database.js';
import { type CheckRecord, getCheck } from '../receiver-checks/read-check.js';
import { Refusal } from '../refusal.js';
import { carryOutNow } from '../webhooks/delivery-actions.js';
import { createCheckAction } from './check.js';
import { SDK_ENDS, withTemporal } from './temporal-from-outside.js';

/** Longer than nine requests to a receiver that never responds, ms. */
const LONGEST = 240_000;
/** Time between two looks at the report, ms. */
const LOOK = 300;

/**
 * Checks the receiver of an endpoint from a process that is neither API nor worker, an operator's command, and waits
 * for the report.
 * @throws Refusal, ConfigError, Error of one line: no sandbox, or the check does not end
 */
export async function checkFromOutside(
  database: Database,
  environment: Environment,
  actor: Actor,
  endpointId: string,
): Promise<CheckRecord> {
  if (environment.ENVIRONMENT !== 'sandbox') {
    throw new Error('receivers are checked in the sandbox only; ENVIRONMENT is not sandbox');
  }
  const endpoint = await database.prisma.endpoint.findFirst({
    where: { id: endpointId, deletedAt: null },
    select: { clientId: true },
  });
  if (!endpoint) throw new Refusal('not_found', 'There is no such webhook endpoint.');
  const { clientId } = endpoint;
  const { checkId: id } = await withTemporal(environment, (client) =>
    carryOutNow(
      database,
      createCheckAction(() => client, SDK_ENDS),
      { by: { actor }, clientId, endpointId },
    ),
  );
  const deadline = performance.now() + LONGEST;
  for (;;) {
    const check = await getCheck(database, { clientId, endpointId, id });
    if (check.finishedAt !== null) return check;
    if (performance.now() > deadline) throw new Error(`the check ${id} does not end; look whether a worker runs`);
    await sleep(LOOK);
  }
}
