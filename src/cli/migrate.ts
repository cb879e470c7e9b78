import type { Command } from 'commander';
import { temporalAt } from '../config.js';
import { migrate } from '../database/migrate.js';
import { setAction } from './command.js';
import { environmentInReach, reachingPostgres } from './with-database.js';

/** `migrate`: brings Postgres and Temporal to what this release needs. */
export function addMigrate(program: Command): void {
  setAction(
    program
      .command('migrate')
      .description('apply the migrations and prepare the Temporal namespace; safe to run twice at once'),
    async () => {
      const environment = await environmentInReach();
      const { applied } = await reachingPostgres(() => migrate(environment.DATABASE_URL));
      const { TEMPORAL_ADDRESS: address } = environment;
      // Loaded here: it is most of the start of a command, and only this one needs it.
      const temporal = address
        ? await (await import('../temporal/namespace.js')).migrateTemporal(temporalAt(address, environment))
        : [];
      const said = [
        applied.length > 0 ? `applied ${applied.join(', ')}` : 'the database is up to date',
        ...(address ? temporal : ['TEMPORAL_ADDRESS is not set: Temporal was left alone']),
      ];
      return { json: { applied, temporal }, text: said.join('\n') };
    },
  );
}
