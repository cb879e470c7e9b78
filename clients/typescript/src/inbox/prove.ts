import { digestOf, verifyStatement } from '../statement.js';
import type { Statement } from '../types.js';
import { type Reading, rows, unknownOf } from './feed.js';
import { handle } from './handle.js';

/** How the inbox compares with a statement of the service. */
export interface Proof {
  /** Whether exactly the events that the service counts have been handled here. */
  proven: boolean;
  statement: Statement;
  /** Ids that were missing here. They have been fetched and handled. */
  missing: string[];
  /** Ids that only the inbox has. */
  unknown: string[];
  /** Ids of events that have failed, or are parked. */
  unhandled: string[];
}

/** A time range; `since` inclusive, `until` exclusive. */
export interface ProofWindow {
  /** Default: a day before `until`. */
  since?: Date;
  /** Default: two minutes ago, so that the statement is final. */
  until?: Date;
  /** Whose statement; default: `webhookId` of the inbox, or the only endpoint that there is. */
  webhookId?: string;
  signal?: AbortSignal;
}

const DAY = 86_400_000;
const FINAL_AFTER = 120_000;

/** @throws StatementError if the statement's signature is wrong; RangeError for a window of forgotten events */
export async function prove<Tx>(
  reading: Reading<Tx> & { webhookId: string | undefined },
  { until = new Date(Date.now() - FINAL_AFTER), since = new Date(until.getTime() - DAY), ...others }: ProofWindow,
): Promise<Proof> {
  const { client, sql } = reading;
  const { signal } = others;
  const options = signal && { signal };
  const window = { since: since.toISOString(), until: until.toISOString() };
  const [kept] = await rows(reading, sql.cursor, []);
  const removedBefore = String(kept?.removed_before ?? window.since);
  if (Date.parse(removedBefore) > since.getTime()) {
    throw new RangeError(`since must not be before ${removedBefore}: older events were removed from the inbox`);
  }
  const webhookId = others.webhookId ?? reading.webhookId ?? (await onlyEndpoint(reading));
  const statement = await client.webhookEndpoints.statement(webhookId, window, options);
  if (statement.signature !== null) {
    verifyStatement({ statement, jwks: await client.service.jwks({ retired: 'true' }, options) });
  }
  let own = await readOwn(reading, window);
  const [missing, unknown]: [string[], string[]] = [[], []];
  if (digestOf(own.keys()) !== statement.digest) {
    const theirs = new Set<string>();
    // The bound is exclusive.
    const created_after = new Date(since.getTime() - 1).toISOString();
    const filters = { order: 'oldest', limit: 100, created_after, created_before: window.until } as const;
    for await (const { data } of client.events.list(filters, options).pages()) {
      for (const { id } of data) theirs.add(id);
      for (const event of await unknownOf(reading, data)) {
        signal?.throwIfAborted();
        const { outcome, error } = await handle(reading, event);
        if (outcome !== 'duplicate') missing.push(event.id);
        if (error !== undefined) reading.onError(error, event);
      }
    }
    own = await readOwn(reading, window);
    unknown.push(...[...own.keys()].filter((id) => !theirs.has(id)));
  }
  const unhandled = [...own].flatMap(([id, handled]) => (handled ? [] : [id]));
  const proven = digestOf(own.keys()) === statement.digest && unhandled.length === 0;
  return { proven, statement, missing, unknown, unhandled };
}

/** The ids of the window that the inbox has, and whether each is handled. */
async function readOwn<Tx>(reading: Reading<Tx>, window: { since: string; until: string }) {
  const own = new Map<string, boolean>();
  const [since, until] = [window.since.slice(0, -1), window.until.slice(0, -1)];
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const page = await rows(reading, reading.sql.window, [since, until, after]);
    for (const { id, handled } of page) own.set(String(id), handled === true);
    const last = page.at(-1);
    if (!last) return own;
    after = String(last.id);
  }
}

async function onlyEndpoint<Tx>({ client }: Reading<Tx>): Promise<string> {
  const { data } = await client.webhookEndpoints.list({ limit: 2 }).page();
  const [only, another] = data;
  if (only && !another) return only.webhookId;
  throw new TypeError(`give webhookId: there ${only ? 'are several endpoints' : 'is no endpoint'}`);
}
