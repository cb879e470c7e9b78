import { isCheckEvent } from '../check/event.js';
import type { DeliveredEvent } from '../types.js';
import type { InboxDatabase, Row } from './database.js';
import type { Statements } from './schema.js';

/** What `onEvent` gets beside the event. */
export interface InboxContext<Tx> {
  /** The transaction that stores the event's id: what you write with it is written exactly once. */
  tx: Tx;
  /** Whether a later event of the same transfer has been handled: a status must not go back to this one. */
  isLate: boolean;
  /** When the event was made: its `created_at`, which is UTC although the text has no zone. */
  createdAt: Date;
}

/**
 * What became of an event. `duplicate`: it was handled before. `failed`: `onEvent` threw, and it comes again. `parked`:
 * it has failed too often, and waits for `retry`.
 */
export type Outcome = 'handled' | 'duplicate' | 'failed' | 'parked';

export interface Handling<Tx> {
  database: InboxDatabase<Tx>;
  sql: Statements;
  onEvent(event: DeliveredEvent, context: InboxContext<Tx>): void | Promise<void>;
  /** Tries after which an event is parked. */
  maxTries: number;
}

export interface Handled {
  outcome: Outcome;
  /** What `onEvent` threw. */
  error?: unknown;
  /** An earlier event of the transfer has not arrived. */
  misses: boolean;
}

/** A first event is made by the change from CREATED. These statuses come after others. */
const EARLIER_EVENTS: Readonly<Record<string, number>> = { SENT: 1, COMPLETED: 2, RETURNED: 2 };

/**
 * Handles one event: its effect and its id are committed together, or neither is. Events of one transfer take turns, so
 * that feed and pushes may meet, in one process or several. Of an event of a check, nothing is kept.
 * @param again handles a parked event too
 * @throws what the database throws when it cannot even store the failure
 */
export async function handle<Tx>(
  { database, sql, onEvent, maxTries }: Handling<Tx>,
  event: DeliveredEvent,
  again = false,
): Promise<Handled> {
  const key = [event.id, transferOf(event), event.created_at] as const;
  const query = async (tx: Tx, text: string, values: readonly (string | number | null)[]) =>
    (await database.query(tx, text, values)) as readonly Row[];
  const isCheck = isCheckEvent(event);
  let misses = false;
  try {
    return await database.transaction(async (tx) => {
      await query(tx, sql.lock, [key[1] ?? event.id]);
      const [known] = await query(tx, sql.state, key);
      if (known?.handled || known?.removed) return { outcome: 'duplicate', misses };
      if (known?.parked && !again) return { outcome: 'parked', misses };
      misses = Number(known?.earlier) < (EARLIER_EVENTS[event.data?.status] ?? 0);
      await onEvent(event, { tx, isLate: known?.late === true, createdAt: new Date(`${event.created_at}Z`) });
      if (isCheck) throw CHECKED;
      const [stored] = await query(tx, sql.handled, key);
      if (!stored) throw new Error(`the event ${event.id} was handled at the same time`);
      return { outcome: 'handled', misses };
    });
  } catch (error) {
    if (error === CHECKED) return { outcome: 'handled', misses: false };
    if (isCheck) return { outcome: 'failed', error, misses: false };
    const failure = [JSON.stringify(event), messageOf(error), isOfDatabase(error) ? 0 : 1, maxTries];
    const [stored] = await database.transaction((tx) => query(tx, sql.failed, [...key, ...failure]));
    // The reply to a commit may be lost: then it is handled.
    if (!stored) return { outcome: 'duplicate', misses };
    return { outcome: stored.parked ? 'parked' : 'failed', error, misses };
  }
}

/** Rolls back what `onEvent` has done with an event of a check. */
const CHECKED = new Error('an event of a check');

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The transfer of an event; null of a type that has none. */
function transferOf({ data }: DeliveredEvent): string | null {
  const id: unknown = data?.id;
  return typeof id === 'string' && UUID.test(id) ? id : null;
}

const LONGEST_MESSAGE = 1_000;

function messageOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll('\0', '').slice(0, LONGEST_MESSAGE);
}

/**
 * Whether the database failed and not `onEvent`: a broken connection, a shutdown, a deadlock. Such a failure says
 * nothing about the event, so it does not count as a try.
 */
function isOfDatabase(error: unknown): boolean {
  const { code, meta, cause, message } = error as Partial<Record<'code' | 'meta' | 'cause' | 'message', unknown>>;
  const states = [
    code,
    (meta as { code?: unknown } | undefined)?.code,
    (cause as { code?: unknown } | undefined)?.code,
  ];
  return (
    states.some((state) => /^(08|40|53|57)[\dA-Z]{3}$/.test(String(state))) ||
    /^Connection terminated/.test(String(message))
  );
}
