import type { AttemptError, Trigger } from '../attempts.js';
import type { Handle } from '../database/database.js';
import type { Attempt } from '../database/generated/client.js';

/** An attempt as lists show it: without URL, response headers and response body, so that a page stays small. */
export interface LastAttempt {
  number: number;
  trigger: Trigger;
  startedAt: Date;
  durationMs: number;
  responseStatus: number | null;
  error: AttemptError | null;
}

interface LastAttemptRow {
  deliveryId: string;
  /** `startedAt` is ISO 8601 with an offset, as Postgres writes a timestamp into JSON. */
  attempt: Omit<LastAttempt, 'startedAt'> & { startedAt: string };
}

/**
 * Reads the last attempt of each delivery, by the delivery's id: one statement, one index look-up for each delivery.
 */
export async function readLastAttempts(
  db: Handle,
  deliveries: readonly { id: string; attemptCount: number }[],
): Promise<ReadonlyMap<string, LastAttempt>> {
  const attempted = deliveries.filter(({ attemptCount }) => attemptCount > 0);
  if (attempted.length === 0) return new Map();
  const rows = await db.query<LastAttemptRow>(LAST_ATTEMPTS, [
    attempted.map(({ id }) => id),
    attempted.map(({ attemptCount }) => attemptCount),
  ]);
  return new Map(
    rows.map(({ deliveryId, attempt }) => [deliveryId, { ...attempt, startedAt: new Date(attempt.startedAt) }]),
  );
}

/** SQL: an attempt without the receiver's headers and body. */
const SUMMARY = `json_build_object('number', number, 'trigger', trigger, 'startedAt', started_at,
     'durationMs', duration_ms, 'responseStatus', response_status, 'error', error)`;

/** Ignores attempts after the `attempt_count` already read, so that the two agree while another attempt is recorded. */
const LAST_ATTEMPTS = `
select d.id::text as "deliveryId", a.attempt
  from unnest($1::uuid[], $2::int[]) as d(id, attempt_count)
 cross join lateral (
   select ${SUMMARY} as attempt
     from attempts where delivery_id = d.id and number <= d.attempt_count
    order by number desc limit 1) a`;

/**
 * Reads the latest `most` attempts of each delivery, oldest first, without the receivers' headers and bodies: one
 * statement, one index range for each delivery.
 * @returns by the delivery's id; a delivery without attempts has no entry
 */
export async function readAttemptSummaries(
  db: Handle,
  deliveryIds: readonly string[],
  most: number,
): Promise<ReadonlyMap<string, LastAttempt[]>> {
  if (deliveryIds.length === 0) return new Map();
  const rows = await db.query<LastAttemptRow>(SUMMARIES, [deliveryIds, most]);
  const summaries = new Map<string, LastAttempt[]>();
  for (const { deliveryId, attempt } of rows) {
    const made = summaries.get(deliveryId) ?? [];
    made.unshift({ ...attempt, startedAt: new Date(attempt.startedAt) });
    summaries.set(deliveryId, made);
  }
  return summaries;
}

const SUMMARIES = `
select d.id::text as "deliveryId", a.attempt
  from unnest($1::uuid[]) as d(id)
 cross join lateral (
   select ${SUMMARY} as attempt from attempts where delivery_id = d.id order by number desc limit $2::int) a
 order by d.id, (a.attempt ->> 'number')::int desc`;

export interface AttemptRange {
  /** Only attempts with a lower number: the last number of the previous page. */
  before?: number | undefined;
  take: number;
}

/** Lists a delivery's attempts, newest first. The caller has checked that the delivery belongs to the client. */
export function listAttempts(db: Handle, deliveryId: string, { before, take }: AttemptRange): Promise<Attempt[]> {
  return db.prisma.attempt.findMany({
    where: { deliveryId, ...(before !== undefined && { number: { lt: before } }) },
    orderBy: { number: 'desc' },
    take,
  });
}
