import type { Command } from 'commander';
import { presentStatement } from '../http/presenters/statement.js';
import { readStatement, type Statement } from '../webhooks/statement.js';
import { isTooLong, MAX_WINDOW_DAYS } from '../webhooks/window.js';
import { idOf, parseSince } from './arguments.js';
import { setAction } from './command.js';
import type { View } from './view/view.js';
import { withDatabase } from './with-database.js';

/** Adds `endpoints statement`: what became of the events of a window at one endpoint. */
export function addStatement(endpoints: Command): void {
  setAction(
    endpoints
      .command('statement')
      .argument('<webhookId>', '', idOf('webhook endpoint'))
      .requiredOption('--since <time>', 'start of the window: 24h (ago), or 2026-11-21T10:00:00Z', parseSince)
      .option('--until <time>', 'end of the window, exclusive; default: now', parseSince)
      .description(`count what became of the events of a window of up to ${MAX_WINDOW_DAYS} days`),
    async (endpointId: string, window: { since: number; until?: number }) => {
      const fault = faultOf(window);
      if (fault !== undefined) endpoints.error(`error: ${fault}`);
      const statement = await withDatabase((database, { RETENTION: retention }) =>
        readStatement(database, { clientId: null, endpointId, until: undefined, ...window, retention }),
      );
      return { json: { webhookId: endpointId, ...presentStatement(statement) }, text: view(statement) };
    },
  );
}

/** What is wrong with the window, whatever the database has. */
function faultOf(window: { since: number; until?: number }): string | undefined {
  const { since, until = Date.now() } = window;
  if (since >= until) return '--until must be later than --since';
  if (isTooLong(window)) return `a window may be at most ${MAX_WINDOW_DAYS} days`;
  return undefined;
}

function view(statement: Statement): View {
  const { events, succeeded, pending, failed, cancelled, missing } = statement;
  return [
    {
      fields: [
        ['since', new Date(statement.since)],
        ['until', new Date(statement.until)],
        ['events', events],
        ['succeeded', succeeded],
        ['pending', pending],
        ['failed', failed],
        ['cancelled', cancelled],
        ['missing', missing],
        ['complete', statement.complete ? 'yes' : 'no'],
        ['final', statement.final ? 'yes' : 'no'],
        ['periods known since', statement.periodsKnownSince],
      ],
    },
    {
      columns: [{ name: 'disabled from' }, { name: 'to' }, { name: 'reason' }],
      rows: statement.disabledPeriods.map(({ from, to, reason }) => [from, to, reason]),
      none: 'not disabled in the window, as far as known',
    },
  ];
}
