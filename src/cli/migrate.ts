import type { Command } from 'commander';
import { temporalAt } from '../config.js';
import { migrate } from '../database/migrate.js';
import { setAction } from './command.js';
import { directUrlOf, environmentInReach, reachingPostgres } from './with-database.js';

/** `migrate`: prepares Postgres and Temporal for this release. */
export function addMigrate(program: Command): void {
  setAction(
    program
      .command('migrate')
      .description('apply the database migrations and prepare the Temporal namespace; safe to run concurrently')
      .option('--database-only', 'leave Temporal as it is: others administer its namespace'),
    async ({ databaseOnly }: { databaseOnly?: true }) => {
      const environment = await environmentInReach();
      const { DATABASE_RUNTIME_ROLE: role } = environment;
      const { applied } = await reachingPostgres(() => migrate(directUrlOf(environment), role));
      const address = databaseOnly ? undefined : environment.TEMPORAL_ADDRESS;
      // Loading this module dominates the start of a command, so only the command that needs it loads it.
      const temporal = address
        ? await (await import('../temporal/namespace.js')).migrateTemporal(temporalAt(address, environment))
        : [];
      const lines = [
        applied.length > 0 ? `applied ${applied.join(', ')}` : 'the database is up to date',
        ...(role === undefined ? [] : [`the role ${role} has the rights of a running service`]),
        ...(address
          ? temporal
          : [`${databaseOnly ? '--database-only' : 'TEMPORAL_ADDRESS is not set'}: Temporal was not changed`]),
      ];
      return { json: { applied, temporal }, text: lines.join('\n') };
    },
  );
}
