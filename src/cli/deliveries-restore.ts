import type { Command } from 'commander';
import { personHere } from '../audit/actor.js';
import type { LostEvent } from '../workflow-starts/lost-events.js';
import { parseSince } from './arguments.js';
import { setAction } from './command.js';
import type { Table } from './view/table.js';
import { withDatabase } from './with-database.js';

/**
 * `deliveries reconcile` and `deliveries lost`: for use after the data of Postgres or Temporal was restored or lost.
 */
export function addRestore(deliveries: Command): void {
  setAction(
    deliveries
      .command('reconcile')
      .description('start a workflow now for every pending delivery that has none')
      .option('--replace', 'also restart running workflows from the database; use it after Postgres was restored'),
    async ({ replace = false }: { replace?: boolean }) => {
      const { started, running, refused } = await withDatabase(async (database, environment) => {
        const { reconcileFromOutside } = await import('../workflow-starts/reconcile-from-outside.js');
        return reconcileFromOutside(database, environment, personHere(), replace);
      });
      return {
        json: { started, running, refused },
        text: `${started} workflows started, ${running} were already running`,
        failure: refused.length > 0 ? `Temporal rejected the input of the workflows ${refused.join(', ')}` : undefined,
      };
    },
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
    async ({ since }: { since: number }) => {
      const lost = await withDatabase(async (database, environment) => {
        const { findLostEvents } = await import('../workflow-starts/lost-events.js');
        return findLostEvents(database, environment, since);
      });
      return { json: lost, text: table(lost) };
    },
  );
}

function table(lost: readonly LostEvent[]): Table {
  return {
    columns: [{ name: 'event' }, { name: 'client' }, { name: 'transfer' }, { name: 'type' }, { name: 'started' }],
    rows: lost.map((event) => [
      event.event_id,
      event.client_id,
      event.transfer_id,
      event.type,
      new Date(event.started_at),
    ]),
    none: 'no lost events',
  };
}
