import type { Command } from 'commander';
import { presentStatement } from '../../http/presenters/statement.js';
import { readStatement, type Statement } from '../../webhooks/statement.js';
import { isTooLong, MAX_WINDOW_DAYS } from '../../webhooks/window.js';
import type { CommandResult } from '../command.js';
import type { View } from '../view/view.js';
import { withDatabase } from '../with-database.js';

/** `endpoints statement` */
export async function statement(
  endpointId: string,
  { since, until }: { since?: number; until?: number },
  command: Command,
): Promise<CommandResult> {
  const fault = since === undefined ? undefined : faultOf({ since, until });
  if (fault !== undefined) command.error(`error: ${fault}`);
  const found = await withDatabase((database, { RETENTION: retention }) =>
    readStatement(database, { clientId: null, endpointId, since, until, retention }),
  );
  return { json: { webhookId: endpointId, ...presentStatement(found) }, text: view(found) };
}

/** What is wrong with the window, whatever the database has. */
function faultOf(window: { since: number; until: number | undefined }): string | undefined {
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
