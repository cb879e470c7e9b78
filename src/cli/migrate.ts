import type { Command } from 'commander';
import { temporalAt } from '../config.js';
import { migrate } from '../database/migrate.js';
import { setAction } from './command.js';
import { environmentInReach, reachingPostgres } from './with-database.js';

/** `migrate`: prepares Postgres and Temporal for this release. */
export function addMigrate(program: Command): void {
  setAction(
    program
      .command('migrate')
      .description('apply the database migrations and prepare the Temporal namespace; safe to run concurrently'),
    async () => {
      const environment = await environmentInReach();
      const { applied } = await reachingPostgres(() => migrate(environment.DATABASE_URL));
      const { TEMPORAL_ADDRESS: address } = environment;
      // Loading this module dominates the start of a command, so only the command that needs it loads it.
      const temporal = address
        ? await (await import('../temporal/namespace.js')).migrateTemporal(temporalAt(address, environment))
        : [];
      const lines = [
        applied.length > 0 ? `applied ${applied.join(', ')}` : 'the database is up to date',
        ...(address ? temporal : ['TEMPORAL_ADDRESS is not set: Temporal was not changed']),
      ];
      return { json: { applied, temporal }, text: lines.join('\n') };
    },
  );
}
