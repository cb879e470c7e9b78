import type { Command } from 'commander';
import { parseSince } from './arguments.js';
import { setAction } from './command.js';

/**
 * `deliveries reconcile` and `deliveries lost`: for use after the data of Postgres or Temporal was restored or lost.
 */
export function addRestore(deliveries: Command): void {
  setAction(
    deliveries
      .command('reconcile')
      .description('start a workflow now for every pending delivery that has none')
      .option('--replace', 'also restart running workflows from the database; use it after Postgres was restored'),
    async () => (await import('./actions/deliveries-restore.js')).reconcile,
  );

  setAction(
    deliveries
      .command('lost')
      .description(
        'list events that are in Temporal and not in the database: they were lost when Postgres was restored',
      )
      .requiredOption(
        '--since <time>',
        'the time that Postgres was restored to: 2h (ago), or 2026-11-21T10:00:00Z',
        parseSince,
      ),
    async () => (await import('./actions/deliveries-restore.js')).lost,
  );
}
