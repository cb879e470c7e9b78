import type { StatementClaims } from '../auth/authority.js';
import { getEndpoint } from '../endpoints/endpoints.js';
import { readStatementWindow, readWithinLimits } from '../endpoints/window.js';
import { type Handle, readClock } from '../platform/database/database.js';
import { isTooLong, MAX_WINDOW_DAYS } from '../platform/limits.js';
import { Refusal, type RefusalCode } from '../platform/refusal.js';

const DAY = 86_400_000;
/** Age from which no event is added to a time, ms. A request that makes an event takes less. */
const FINAL_AFTER = 60_000;

/** The statement of an endpoint for the events made in [since, until). */
export type Statement = Awaited<ReturnType<typeof readStatement>>;

interface StatementRequest {
  /** The client that asks; null: the operator, for any client's endpoint and without the limits of a client. */
  clientId: string | null;
  endpointId: string;
  /** Undefined: 24 h ago, or the registration if that is later: what was made before is not missing. */
  since?: number | undefined;
  /** Undefined: now. */
  until?: number | undefined;
  /** ms; a window that starts earlier is refused. */
  retention: number;
  /** Signs a final statement. */
  sign: (claims: StatementClaims) => Promise<string>;
}

/**
 * Makes the statement of an endpoint from one snapshot.
 * @throws Refusal not_found | invalid_request (the window is empty or too long) | outside_retention |
 * statement_limit_reached | unavailable
 */
export async function readStatement(db: Handle, request: StatementRequest) {
  const { clientId, endpointId, retention, sign } = request;
  const endpoint = await getEndpoint(db, clientId, endpointId);
  const now = await readClock(db);
  const until = request.until ?? now;
  const since = request.since ?? Math.max(now - DAY, endpoint.createdAt.getTime());
  if (since >= until) throw refusal('invalid_request', 'until', 'invalid_range', 'must be later than since');
  if (isTooLong({ since, until: request.until }, now)) {
    const detail = `the window may be at most ${MAX_WINDOW_DAYS} days`;
    throw refusal('invalid_request', 'since', 'window_too_long', detail);
  }
  const kept = now - retention;
  if (since < kept) {
    const detail = `must not be before ${new Date(kept).toISOString()}, when the oldest events that are kept were made`;
    throw refusal('outside_retention', 'since', 'outside_retention', detail);
  }
  const window = { clientId: endpoint.clientId, endpointId, since, until };
  const { periods, ...counts } = await readWithinLimits(db, clientId, (tx) => readStatementWindow(tx, window));
  const { digest, events, succeeded, pending, failed, cancelled, missing } = counts;
  // No event is added to the window any more.
  const final = until < now - FINAL_AFTER;
  const signed = {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    events,
    succeeded,
    pending,
    failed,
    cancelled,
    missing,
    complete: succeeded === events,
    digest,
  };
  return {
    ...signed,
    final,
    signature: final ? await sign({ sub: endpoint.clientId, webhookId: endpointId, ...signed }) : null,
    disabledPeriods: periods,
    periodsKnownSince: endpoint.periodsKnownSince,
  };
}

function refusal(code: RefusalCode, parameter: string, ofParameter: string, detail: string): Refusal {
  return new Refusal(code, `${parameter}: ${detail}.`, [{ parameter, code: ofParameter, detail }]);
}
