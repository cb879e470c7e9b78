import { temporalAt } from '../../platform/config/config.js';
import { migrate } from '../../platform/database/migrate.js';
import type { Command } from '../command.js';
import { onDatabase } from '../with-database.js';

/** `migrate` */
export function declare(command: Command): void {
  command.option('--database-only', 'leave Temporal as it is, if others administer its namespace').does(migrateAll);
}

const migrateAll = onDatabase(async ({ url, environment }, { databaseOnly }: { databaseOnly?: true }) => {
  const { DATABASE_RUNTIME_ROLE: runtime, DATABASE_API_ROLE: api, DATABASE_WORKER_ROLE: worker } = environment;
  const { applied } = await migrate(url, { runtime, api, worker });
  const address = databaseOnly ? undefined : environment.TEMPORAL_ADDRESS;
  if (!address) return { json: { applied, temporal: [] } };
  // Temporal's SDK takes longer to load than the rest, and it is not needed without an address.
  const { migrateTemporal } = await import('../../temporal/namespace.js');
  return { json: { applied, temporal: await migrateTemporal(temporalAt(address, environment)) } };
});
