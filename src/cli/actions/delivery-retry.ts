import { personHere } from '../../audit/actor.js';
import { retryFromOutside } from '../../workflow-starts/retry-from-outside.js';
import type { CommandResult } from '../command.js';
import { withDatabase } from '../with-database.js';

/** `deliveries retry` */
export async function retry(id: string): Promise<CommandResult> {
  await withDatabase((database, environment) => retryFromOutside(database, environment, personHere(), id));
  return { json: { id, retried: true }, text: `delivery ${id} is retried now` };
}
