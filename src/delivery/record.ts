import { setTimeout as sleep } from 'node:timers/promises';
import { SPARED } from '../endpoints/health.js';
import type { WorkflowMode } from '../platform/config/config.js';
import { Batcher } from '../platform/database/batcher.js';
import { atomically, type Handle } from '../platform/database/database.js';
import { isRefusedData, isUnreachable } from '../platform/database/faults.js';
import type { DeliveryStatus } from '../platform/database/generated/enums.js';
import { failpoint } from '../platform/failpoints.js';
import type { Log } from '../platform/telemetry/log.js';
import type { LeasedAttempt } from './handover.js';
import { tellWorkflows } from './outbox.js';
import { pauseOf } from './pause.js';
import type { SendOutcome } from './sender/send.js';

/** An attempt that was made. */
export interface MadeAttempt {
  attempt: Pick<
    LeasedAttempt,
    'deliveryId' | 'eventId' | 'line' | 'number' | 'trigger' | 'url' | 'leasedUntil' | 'isAwaited'
  >;
  outcome: SendOutcome;
  /** By `performance.now()`; undefined: just now. */
  endedAt?: number;
}

/** The delivery after the record. */
export interface RecordedAttempt {
  deliveryId: string;
  /** Of the attempt; higher than the one that was made if another worker's attempt has that number. */
  number: number;
  status: DeliveryStatus;
  /** The next attempt is due at once. It is in the queue, and free. */
  isQueued: boolean;
  /** Another transaction has locked the delivery: nothing was recorded. */
  isLocked: boolean;
}

/** How a process records: its lease, and whether delivered events get a workflow. */
export interface RecordOptions {
  token: string;
  workflows: WorkflowMode;
}

/**
 * Records attempts and writes the next step of each delivery, in one statement and from the rows alone.
 *
 * - An attempt counts by (delivery, number), whichever process holds the lease. If another attempt has its number, a
 *   late failure changes nothing, and a late success gets the next number and makes a pending or failed delivery
 *   succeed.
 * - A failed attempt of the ladder uses up a rung, and the next one counts from its end, however late the record is. A
 *   manual retry uses none: its failure leaves the plan as it was.
 * - The attempt leaves the queue, unless the next one is due at once. A manual retry that was accepted meanwhile stays.
 * - The outbox gets what the event's workflow has to learn: nothing of an attempt that an activity awaits, `again` of
 *   others of the late line. With `retries-only`, nothing of a delivery that has arrived at once.
 * @returns no row for an attempt that was not recorded, but for one that is to be recorded later (`isLocked`)
 */
export function recordAttempts(
  db: Handle,
  { token, workflows }: RecordOptions,
  made: readonly MadeAttempt[],
): Promise<RecordedAttempt[]> {
  const attempts = made.map(({ attempt }) => attempt);
  const outcomes = made.map(({ outcome }) => outcome);
  const pauses = outcomes.map(pauseOf);
  const now = performance.now();
  return db.hot<RecordedAttempt>(pauses.some((pause) => pause !== null) ? RECORD_WITH_PAUSES : RECORD, [
    token,
    attempts.map(({ deliveryId }) => deliveryId),
    attempts.map(({ number }) => number),
    attempts.map(({ trigger }) => trigger),
    attempts.map(({ url }) => url),
    outcomes.map(({ t }) => t),
    outcomes.map(({ startedAt }) => startedAt.toISOString()),
    outcomes.map(({ durationMs }) => Math.round(durationMs)),
    outcomes.map(({ responseStatus }) => responseStatus),
    outcomes.map(({ responseHeaders }) => responseHeaders && JSON.stringify(responseHeaders)),
    outcomes.map(({ responseBody }) => responseBody),
    outcomes.map(({ error }) => error),
    outcomes.map(({ detail }) => detail),
    attempts.map(({ line, isAwaited }) => (line === 'late' && isAwaited ? 'awaited' : line)),
    attempts.map(({ leasedUntil }) => leasedUntil),
    made.map(({ endedAt = now }) => Math.round(now - endedAt)),
    workflows === 'retries-only',
    pauses,
  ]);
}

/**
 * Records attempts like `recordAttempts`, after a try whose connection broke. That try may still be running: it has
 * ended once the deliveries are locked, and the record sees what it has written.
 */
export function recordAttemptsAgain(
  db: Handle,
  options: RecordOptions,
  made: readonly MadeAttempt[],
): Promise<RecordedAttempt[]> {
  return atomically(db, async (tx) => {
    await tx.query(LOCK, [made.map(({ attempt }) => attempt.deliveryId)]);
    return recordAttempts(tx, options, made);
  });
}

const LOCK = `
select id from deliveries where id = any(array(select unnest($1::uuid[]))) order by id for no key update`;

/**
 * `attempt`: the attempts that count. `judged`: what each does to its delivery, by the delivery as it was locked. Locks
 * are taken of deliveries by id, as a cancellation takes them, then of the queue, then of the outbox by event. What
 * another transaction has locked is left for a later try, so that it holds up no other client's records.
 *
 * - `known` finds a success that the statement's own earlier try has recorded, under whatever number: its commit may
 *   have succeeded although the connection broke. An array, since Postgres would answer an `exists` here from a hash of
 *   the whole table.
 * - `makes_retry`: the attempt is the manual retry of the queue's row, by its number or, where another attempt was
 *   recorded under that number meanwhile, by its lease.
 * - `owes_retry`: a manual retry that was accepted meanwhile has taken over the row of the queue, since the lease of
 *   this attempt or its delivery had ended. It is still to be made, so the row stays.
 * - `asks_pause`: endpoints whose receiver asks to be spared. One that another transaction has locked keeps its pause:
 *   the next such response writes it.
 * - Without a row of the queue (`queued` null) the delivery sleeps, even if its next attempt is due: Postgres was set
 *   back to a time at which it slept. Its workflow or the watchdog queues it.
 *
 * Postgres does not know the length of `(select $2)`, so that it plans alike for one attempt and for many, and keeps
 * the plan. Each `= any(array(…))` leads the plan to the rows by their ids: with a join alone, a plan made for an empty
 * queue reads the whole queue.
 */
const recordStatement = (pauses = '') => `
with input as (
  select * from unnest((select $2::uuid[]), $3::int[], $4::text[], $5::text[], $6::text[],
                       $7::timestamptz[], $8::int[], $9::int[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
                       $15::timestamptz[], $16::int[], $18::int[])
    as i(delivery_id, number, trigger, url, t, started_at, duration_ms, response_status,
         response_headers, response_body, error, detail, line, leased_until, ended_ago, pause)
), locked as materialized (
  select d.id, d.endpoint_id, d.status, d.attempt_count, d.next_attempt_at,
         (select q.trigger from queue q where q.delivery_id = d.id) as queued,
         (string_to_array(d.ladder, ',')::interval[])[d.rung + 1] as wait
    from input i join deliveries d on d.id = i.delivery_id
   where d.id = any(array(select delivery_id from input))
   order by d.id for no key update of d skip locked
), attempt as materialized (
  select i.*, l.endpoint_id, l.status, l.attempt_count + 1 as recorded_as, l.next_attempt_at, l.queued, l.wait,
         i.number <> l.attempt_count + 1 as overtaken,
         i.trigger = 'manual' and (i.number = l.attempt_count + 1 or i.leased_until = any(array(
           select q.lease_until from queue q where q.delivery_id = i.delivery_id and q.lease_token = $1::uuid))) as makes_retry
    from input i join locked l on l.id = i.delivery_id
   where i.error is not null and i.number = l.attempt_count + 1
      or i.error is null and i.t <> all(array(
           select known.t from attempts known where known.delivery_id = i.delivery_id and known.error is null))
), judged as materialized (
  select a.*, o.*,
         o.climbs and a.wait is null or o.is_gone as fails,
         case when a.trigger = 'manual' then a.next_attempt_at else now() - a.ended_ago * interval '1 millisecond' + a.wait end as next,
         coalesce(a.queued = 'manual' and not a.makes_retry, false) as owes_retry
    from attempt a cross join lateral (
      select a.error is null and (a.status = 'pending' or a.trigger = 'manual' or a.overtaken and a.status = 'failed') as succeeds,
             a.error is not null and a.status = 'pending' and a.trigger <> 'manual' as climbs,
             a.error is not null and a.status = 'pending' and a.response_status is not distinct from 410 as is_gone) o
), updated as (
  update deliveries d set
    attempt_count = j.recorded_as,
    rung = case when j.climbs then d.rung + 1 else d.rung end,
    status = case when j.succeeds then 'succeeded' when j.fails then 'failed' else d.status end,
    reason = case when j.succeeds then null when j.is_gone then 'endpoint_gone' when j.fails then 'exhausted' else d.reason end,
    next_attempt_at = case when d.status = 'pending' and not j.succeeds and not j.fails then j.next end,
    asleep = d.status = 'pending' and not j.succeeds and not j.fails
             and not j.owes_retry and (j.next > now() or j.queued is null),
    finished_at = case when j.succeeds or j.fails then now() else d.finished_at end
    from judged j
   where d.id = j.delivery_id and d.id = any(array(select delivery_id from judged))
  returning d.id, d.event_id, d.client_id, d.status, d.next_attempt_at, d.asleep, d.recovered,
            j.recorded_as, j.makes_retry, j.trigger = 'manual' or j.overtaken or j.line = 'late' as unknown_to_workflow,
            j.line = 'awaited' as awaited_by_workflow
), recorded as (
  insert into attempts (delivery_id, number, trigger, url, t, started_at, duration_ms, response_status,
                        response_headers, response_body, error, detail)
  select a.delivery_id, a.recorded_as, a.trigger, a.url, a.t, a.started_at, a.duration_ms, a.response_status,
         a.response_headers::jsonb, a.response_body, a.error, a.detail
    from attempt a
), left_queue as (
  delete from queue q
   where q.delivery_id = any(array(select id from updated where status <> 'pending' or asleep))
     and (q.trigger <> 'manual' or q.delivery_id = any(array(select id from updated where makes_retry)))
), next as (
  update queue q
     set line = 'fresh', due_at = u.next_attempt_at, trigger = case when u.recovered then 'recover' else 'schedule' end,
         lease_token = null, lease_until = null
    from updated u
   where q.delivery_id = u.id and q.delivery_id = any(array(select id from updated where status = 'pending' and not asleep))
     and coalesce(q.lease_token, $1::uuid) = $1::uuid
     and (q.trigger <> 'manual' or q.delivery_id = any(array(select id from updated where makes_retry)))
  returning q.delivery_id
), learns as (
  select event_id, client_id, min(case when unknown_to_workflow then 'again'
                                       when awaited_by_workflow then null
                                       when asleep or status = 'failed' then 'start'
                                       when status <> 'pending' and not $17::boolean then 'delivered' end::outbox_state) as state
    from updated group by event_id, client_id
), ${tellWorkflows('learns where state is not null')}${pauses}
select u.id as "deliveryId", u.recorded_as as number, u.status::text,
       u.id = any(array(select delivery_id from next)) as "isQueued", false as "isLocked"
  from updated u
 union all
select i.delivery_id, null, null, false, true
  from input i
 where i.delivery_id <> all(array(select id from locked)) and exists (select from deliveries d where d.id = i.delivery_id)`;

const RECORD = recordStatement();
const RECORD_WITH_PAUSES = recordStatement(`, asks_pause as materialized (
  select e.id, (select max(now() - a.ended_ago * interval '1 millisecond' + a.pause * interval '1 second')
                  from attempt a where a.endpoint_id = e.id) as until
    from webhook_endpoints e
   where e.id = any(array(select endpoint_id from attempt where pause is not null))
   order by e.id for no key update skip locked
), paused as (
  update webhook_endpoints e set slowed_until = case when ${SPARED} then greatest(e.slowed_until, p.until) else p.until end
    from asks_pause p where e.id = p.id and e.id = any(array(select id from asks_pause))
)`);

/** Rows of one statement. More rows gain nothing and hold locks for longer. */
const BATCH = 200;
/** ms. At full speed, batches are half as many and twice as large as without it. */
const GATHER = 8;
/** A process that ends waits this long for Postgres to take its records, ms. Then the attempts are made again. */
const GIVE_UP_AFTER = 10_000;
const RETRY_DELAY = 200;

/**
 * Records attempts in batches that clock themselves: while a statement runs, the next batch gathers; a lone attempt is
 * written at once. While Postgres is unreachable the attempts wait: a record counts by delivery and number, however
 * late it is.
 */
export class Recorder {
  readonly #batches: Batcher<MadeAttempt, RecordedAttempt | undefined>;
  #giveUpAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly db: Handle,
    private readonly options: RecordOptions,
    private readonly log: Log,
  ) {
    this.#batches = new Batcher({ run: (made) => this.#write(made), size: BATCH, gather: GATHER });
  }

  /** Number of rows that wait to be written, without the rows of the running statement. */
  get waiting(): number {
    return this.#batches.waiting;
  }

  /**
   * Writes an attempt.
   * @returns the delivery after the write; undefined if this attempt was not recorded, because another one has its
   * number
   * @throws if the process ends while Postgres is unreachable, or if Postgres refuses the row even without the
   * response's headers and body
   */
  async record(made: MadeAttempt): Promise<RecordedAttempt | undefined> {
    for (;;) {
      const recorded = await this.#batches.run(made);
      if (!recorded?.isLocked) return recorded;
      if (performance.now() > this.#giveUpAt) throw new Error('the delivery is locked by another transaction');
      await sleep(RETRY_DELAY);
    }
  }

  /**
   * From 10 s after this call on, a record that fails is given up at once, so that the process can end. Until then the
   * dispatcher waits for the records of its attempts.
   */
  stop(): void {
    this.#giveUpAt = performance.now() + GIVE_UP_AFTER;
  }

  /** @throws if Postgres refuses a row: then the rows of a batch are written one by one */
  async #write(batch: readonly MadeAttempt[]): Promise<(RecordedAttempt | undefined)[]> {
    let made = batch;
    for (let record = recordAttempts; ; record = recordAttemptsAgain) {
      try {
        failpoint('before-record');
        const recorded = await record(this.db, this.options, made);
        failpoint('after-record');
        const byDelivery = new Map(recorded.map((row) => [row.deliveryId, row]));
        return made.map(({ attempt }) => byDelivery.get(attempt.deliveryId));
      } catch (error) {
        if (isRefusedData(error)) {
          made = [this.#withoutResponse(made, error)];
          continue;
        }
        if (!isUnreachable(error)) this.log.error({ err: error }, 'attempts could not be recorded');
        if (performance.now() > this.#giveUpAt) throw error;
        await sleep(RETRY_DELAY);
      }
    }
  }

  /** @throws `refused` unless this is a single attempt whose response Postgres may have refused */
  #withoutResponse([made, ...others]: readonly MadeAttempt[], refused: unknown): MadeAttempt {
    if (!made || others.length > 0 || !(made.outcome.responseHeaders || made.outcome.responseBody)) throw refused;
    this.log.warn(
      { err: refused, delivery_id: made.attempt.deliveryId },
      'recorded an attempt without its response headers and body: Postgres refused them',
    );
    return { ...made, outcome: { ...made.outcome, responseHeaders: null, responseBody: null } };
  }
}
