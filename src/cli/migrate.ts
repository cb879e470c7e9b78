import type { Command } from 'commander';
import { setAction } from './command.js';

/** `migrate`: prepares Postgres and Temporal for this release. */
export function addMigrate(program: Command): void {
  setAction(
    program
      .command('migrate')
      .description('apply the database migrations and prepare the Temporal namespace; safe to run concurrently')
      .option('--database-only', 'leave Temporal as it is: others administer its namespace'),
    async () => (await import('./actions/migrate.js')).migrateAll,
  );
}
