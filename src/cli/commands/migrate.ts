import { temporalAt } from '../../platform/config/config.js';
import { migrate } from '../../platform/database/migrate.js';
import type { Command, CommandResult } from '../command.js';
import { directUrlOf, environmentInReach, reachingPostgres, requireTemporalStarted } from '../with-database.js';

/** `migrate` */
export function declare(command: Command): void {
  command.option('--database-only', 'leave Temporal as it is, if others administer its namespace').does(migrateAll);
}

async function migrateAll({ databaseOnly }: { databaseOnly?: true }): Promise<CommandResult> {
  const environment = await environmentInReach();
  const { DATABASE_RUNTIME_ROLE: runtime, DATABASE_API_ROLE: api, DATABASE_WORKER_ROLE: worker } = environment;
  const roles = { runtime, api, worker };
  const { applied } = await reachingPostgres(() => migrate(directUrlOf(environment), roles));
  const address = databaseOnly ? undefined : environment.TEMPORAL_ADDRESS;
  if (address) await requireTemporalStarted();
  // Temporal's SDK takes longer to load than the rest, and it is not needed without an address.
  const temporal = address
    ? await (await import('../../temporal/namespace.js')).migrateTemporal(temporalAt(address, environment))
    : [];
  return { json: { applied, temporal } };
}
