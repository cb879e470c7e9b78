import { personHere } from '../../audit/actor.js';
import { findLostEvents, type LostEvent } from '../../workflow-starts/lost-events.js';
import { reconcileFromOutside } from '../../workflow-starts/reconcile-from-outside.js';
import type { CommandResult } from '../command.js';
import type { Table } from '../view/table.js';
import { withDatabase } from '../with-database.js';

/** `deliveries reconcile` */
export async function reconcile({ replace = false }: { replace?: boolean }): Promise<CommandResult> {
  const { started, running, refused } = await withDatabase((database, environment) =>
    reconcileFromOutside(database, environment, personHere(), replace),
  );
  return {
    json: { started, running, refused },
    text: `${started} workflows started, ${running} were already running`,
    failure: refused.length > 0 ? `Temporal rejected the input of the workflows ${refused.join(', ')}` : undefined,
  };
}

/** `deliveries lost` */
export async function lost({ since }: { since: number }): Promise<CommandResult> {
  const found = await withDatabase((database, environment) => findLostEvents(database, environment, since));
  return { json: found, text: table(found) };
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
