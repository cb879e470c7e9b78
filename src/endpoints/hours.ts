import type { Handle } from '../platform/database/database.js';
import { isUnreachable } from '../platform/database/faults.js';
import type { Attempt } from '../platform/database/generated/client.js';
import { NIL_ID } from '../platform/ids.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import type { AttemptError } from '../platform/vocabulary.js';

/** A step from one bucket to the next: an estimate is at most an eighth off. */
const FACTOR = 1.25;

/** Attempts counted by the time to the response's head: the number of attempts in each bucket. */
export type AnswerTimes = readonly number[];

/** The bucket of a time in ms. An attempt takes at most 16 s, so that there are at most 45 buckets. */
export function bucketOf(ms: number): number {
  return Math.max(0, Math.round(Math.log(Math.max(1, ms)) / Math.log(FACTOR)));
}

/**
 * The time that the share `quantile` of the attempts did not exceed.
 * @returns whole ms, with two significant digits; null if no attempt was counted
 */
export function quantileOf(times: AnswerTimes, quantile: number): number | null {
  const total = times.reduce((sum, count) => sum + count, 0);
  let left = Math.ceil(total * quantile);
  for (const [bucket, count] of times.entries()) {
    left -= count;
    if (count > 0 && left <= 0) return Math.round(Number((FACTOR ** bucket).toPrecision(2)));
  }
  return null;
}

/** Adds the counts of several hours. */
export function sumOf(all: readonly AnswerTimes[]): AnswerTimes {
  const longest = Math.max(0, ...all.map((times) => times.length));
  return Array.from({ length: longest }, (_, bucket) => all.reduce((sum, times) => sum + (times[bucket] ?? 0), 0));
}

/** Numbers of failed attempts by cause: the status of the response, such as `401`, or the error, such as `timeout`. */
export type Causes = Readonly<Record<string, number>>;

/** Adds the causes of several hours. */
export function sumOfCauses(all: readonly Causes[]): Causes {
  const sum: Record<string, number> = {};
  for (const causes of all) for (const [cause, n] of Object.entries(causes)) sum[cause] = (sum[cause] ?? 0) + n;
  return sum;
}

/** The id under which the attempts of all clients are counted. */
export const ALL_CLIENTS = NIL_ID;

export const HOUR = 3_600_000;

/** ms between two writes: an attempt is on the console's overview this much later. */
const INTERVAL = 2_000;
/** Rows of one statement. */
const BATCH = 500;
/** Rows that wait while Postgres is unavailable. Attempts of further endpoints or hours are not counted. */
const MOST_WAITING = 20_000;

/** What is counted of an attempt. */
export interface CountedAttempt extends Pick<Attempt, 'startedAt' | 'durationMs' | 'responseStatus'> {
  error: AttemptError | null;
}

/**
 * The attempts of one endpoint that started in one hour, or with another id the totals of its client or of all. As
 * JSON: times in ms since 1970, or from Postgres as text.
 */
export interface HourCount<Time = number> {
  endpoint_id: string;
  hour: Time;
  succeeded: number;
  failed: number;
  answer_times: AnswerTimes;
  last_success_at: Time | null;
  last_failure_at: Time | null;
  /** The first failure after the latest success, also where that was in an earlier hour; null: none. */
  failing_since: Time | null;
  /** Failed attempts by cause: the status of the response, or the error. */
  causes: Causes;
  last_error: AttemptError | null;
  last_response_status: number | null;
}

/**
 * Counts each endpoint's attempts by the hour for the console. The counts gather in memory and are written every 2 s,
 * apart from the record of the attempts, so that they cost the delivery path nothing. A process that is killed loses
 * the counts of its last 2 s; deliveries and attempts themselves are never lost.
 */
export class EndpointHours {
  /** The counts of endpoints since the last write, and their clients. */
  readonly #counted = new Map<string, HourCount & { clientId: string | undefined }>();
  /** What is to be written: the counts of endpoints, and the totals of their clients and of all. */
  readonly #rows = new Map<string, HourCount>();
  readonly #writes: Periodic;

  constructor(
    private readonly db: Handle,
    log: Log,
    /** Postgres's clock; undefined: attempts are dated by it already. */
    private readonly clock?: { now: number },
  ) {
    this.#writes = new Periodic({
      interval: INTERVAL,
      run: () => this.write(),
      onFault(error) {
        if (!isUnreachable(error)) log.error({ err: error }, 'attempts could not be counted for the console');
      },
    });
  }

  start(): void {
    this.#writes.start();
  }

  /** Counts a recorded attempt at its endpoint, for its client and for all. */
  count(endpointId: string, attempt: CountedAttempt, clientId?: string): void {
    const { startedAt, durationMs, responseStatus, error } = attempt;
    const ahead = this.clock ? this.clock.now - Date.now() : 0;
    const started = startedAt.getTime() + Math.round(ahead);
    const ended = started + Math.round(durationMs);
    add(this.#counted, {
      clientId,
      endpoint_id: endpointId,
      hour: started - (started % HOUR),
      succeeded: error === null ? 1 : 0,
      failed: error === null ? 0 : 1,
      answer_times: responseStatus === null ? [] : [...Array<number>(bucketOf(durationMs)).fill(0), 1],
      last_success_at: error === null ? ended : null,
      last_failure_at: error === null ? null : ended,
      failing_since: error === null ? null : ended,
      causes: error === null ? {} : { [responseStatus ?? error]: 1 },
      last_error: error,
      last_response_status: error === null ? null : responseStatus,
    });
  }

  /** Writes what was counted. After an error the rows wait for the next write. */
  async write(): Promise<void> {
    for (const { clientId, ...count } of this.#counted.values())
      for (const id of [count.endpoint_id, clientId, ALL_CLIENTS])
        if (id !== undefined) add(this.#rows, { ...count, endpoint_id: id });
    this.#counted.clear();
    const rows = [...this.#rows];
    for (let from = 0; from < rows.length; from += BATCH) {
      const some = rows.slice(from, from + BATCH);
      await this.db.query(ADD, [JSON.stringify(some.map(([, row]) => row))]);
      for (const [key] of some) this.#rows.delete(key);
    }
  }

  /** Writes the last counts, unless Postgres is unavailable. */
  async stop(): Promise<void> {
    await this.#writes.stop();
    await this.write().catch(() => undefined);
  }
}

function add<Count extends HourCount>(counts: Map<string, Count>, count: Count): void {
  const key = `${count.endpoint_id} ${count.hour}`;
  const earlier = counts.get(key);
  if (earlier) counts.set(key, sumOfTwo(earlier, count));
  else if (counts.size < MOST_WAITING) counts.set(key, count);
}

function sumOfTwo<Count extends HourCount>(a: Count, b: Count): Count {
  const { last_failure_at, last_error, last_response_status } =
    (b.last_failure_at ?? 0) >= (a.last_failure_at ?? 0) ? b : a;
  const success = Math.max(a.last_success_at ?? 0, b.last_success_at ?? 0);
  const since = [a, b].map(({ failing_since, last_failure_at: last }) =>
    [failing_since, last].find((at) => (at ?? 0) > success),
  );
  return {
    ...a,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
    answer_times: sumOf([a.answer_times, b.answer_times]),
    last_success_at: success || null,
    causes: sumOfCauses([a.causes, b.causes]),
    last_failure_at,
    failing_since: since.reduce((first, at) => ((at ?? Infinity) < (first ?? Infinity) ? at : first)) ?? null,
    last_error,
    last_response_status,
  };
}

/**
 * SQL: the newest hours of an endpoint. A range and its order name the endpoint, although it is one: with `=`, Postgres
 * may read the hours of all endpoints until one is this endpoint's.
 * @param condition on them; none by default
 */
export const newestHours = (endpoint: string, limit: number, condition = 'true') => `
 select * from endpoint_hours where endpoint_id >= ${endpoint} and endpoint_id <= ${endpoint} and ${condition}
  order by endpoint_id desc, hour desc limit ${limit}`;

const time = (column: string) => `to_timestamp(i.${column} / 1000.0)`;
/** The failure's columns come from the later of the two failures. */
const ofLaterFailure = (column: string) =>
  `${column} = case when excluded.last_failure_at >= h.last_failure_at or h.last_failure_at is null
                    then excluded.${column} else h.${column} end`;

/**
 * SQL: the start of the run of failures that an hour knows of, after the latest success at `success`; null: none. Of a
 * run that began before a success which another process counted, only the end is known.
 */
export const failingSinceOf = (hour: string, success: string) =>
  `case when ${hour}.failing_since > coalesce(${success}, '-infinity') then ${hour}.failing_since
        when ${hour}.last_failure_at > coalesce(${success}, '-infinity') then ${hour}.last_failure_at end`;
const LATEST_SUCCESS = 'greatest(h.last_success_at, excluded.last_success_at)';

/**
 * A run of failures goes on from the hour before, since old hours are removed. Rows are locked in the order of their
 * keys, so that the writes of two processes never deadlock.
 */
const ADD = `
insert into endpoint_hours as h (endpoint_id, hour, succeeded, failed, answer_times, last_success_at, last_failure_at,
                                 failing_since, causes, last_error, last_response_status)
select i.endpoint_id, ${time('hour')}, i.succeeded, i.failed, i.answer_times, ${time('last_success_at')},
       ${time('last_failure_at')},
       case when i.failing_since is not null then least(${time('failing_since')}, case when i.last_success_at is null then (
         select p.failing_since from (${newestHours('i.endpoint_id', 1, `hour < ${time('hour')}`)}) p) end) end,
       i.causes, i.last_error, i.last_response_status
  from json_to_recordset($1::json) as i(endpoint_id uuid, hour bigint, succeeded int, failed int, answer_times int[],
       last_success_at bigint, last_failure_at bigint, failing_since bigint, causes jsonb, last_error text, last_response_status int)
 order by i.endpoint_id, i.hour
on conflict (endpoint_id, hour) do update set
  succeeded = h.succeeded + excluded.succeeded,
  failed = h.failed + excluded.failed,
  answer_times = (select coalesce(array_agg(coalesce(a, 0) + coalesce(b, 0) order by bucket), '{}')
                    from unnest(h.answer_times, excluded.answer_times) with ordinality as t(a, b, bucket)),
  last_success_at = greatest(h.last_success_at, excluded.last_success_at),
  last_failure_at = greatest(h.last_failure_at, excluded.last_failure_at),
  failing_since = least(${failingSinceOf('h', LATEST_SUCCESS)}, ${failingSinceOf('excluded', LATEST_SUCCESS)}),
  causes = (select coalesce(jsonb_object_agg(key, n), '{}')
              from (select key, sum(value::int) as n
                      from (select * from jsonb_each_text(h.causes) union all select * from jsonb_each_text(excluded.causes)) c
                     group by key) s),
  ${ofLaterFailure('last_error')},
  ${ofLaterFailure('last_response_status')}`;
