import { performance } from 'node:perf_hooks';
import { SpanKind } from '@opentelemetry/api';
import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import pLimit from 'p-limit';
import {
  type DeliverEventInput,
  type DeliveryProgress,
  stateOf,
  TASK_QUEUE,
} from '../../workflows/deliver-event.input.js';
import { receiverName } from '../../workflows/receiver.js';
import { ClientId, DeliveryState, EventType, TransferId, WebhookIds } from '../../workflows/search-attributes.js';
import { receiverOf } from '../endpoints/url.js';
import type { WorkflowMode } from '../platform/config/config.js';
import type { Handle } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { failpoint } from '../platform/failpoints.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import { inSpan } from '../platform/telemetry/traces.js';
import { isRefusedInput, startUnlessRunning } from '../temporal/connection.js';
import { eventTitle } from './event-catalogue.js';
import { AT_ONCE } from './lease.js';
import { type DueState, type EventRow, type LeasedEvent, leaseAgain, leaseEvents, markDone } from './outbox.js';
import type { Waiting } from './waiting.js';

/** The outbox is read this often, ms. */
const POLL = 1_000;
/** Starts in progress at once. A start costs two cores 16 to 35 ms. */
export const CONCURRENCY = 16;
const BATCH = 32;
/**
 * One start is allowed for so many ms in which the event loop of this process was idle. Starts thus wait while attempts
 * saturate the process: a start costs 15 to 50 times the CPU of an attempt.
 */
export const IDLE_FOR_START = 10;
/** Without enough of it, the starter looks again after this time, ms. */
const REST = 250;
/** An event whose workflow could not be started is due again after this time, s. */
const RETRY_AFTER = 1;

export interface WorkflowStarterOptions {
  db: Handle;
  /** Undefined while Temporal is unavailable. */
  temporal: () => Client | undefined;
  workflows: WorkflowMode;
  /** Asked each second. */
  waiting: () => Promise<Pick<Waiting, 'starts'>>;
  log: Log;
  /** Time in which the event loop of this process has been idle, ms. */
  idleTime?: () => number;
}

/**
 * Starts one workflow for each event, from one source: the outbox. Clients take turns; of each client, `again` goes
 * first, then `start`, then `delivered`. No attempt waits for it: the queue has those that are due.
 */
export function workflowStarter(options: WorkflowStarterOptions): Periodic {
  const { db, temporal, workflows, waiting, log, idleTime = () => performance.eventLoopUtilization().idle } = options;
  const limit = pLimit(CONCURRENCY);
  /**
   * Events of the next batch. Half after a failure, one more after each batch without one, so that a Temporal that is
   * overloaded gets one start at a time and can recover.
   */
  let size = BATCH;
  /** Idle time that is spent, ms. At most a batch of starts can be saved up. */
  let used = idleTime() - BATCH * IDLE_FOR_START;
  /** The client after which the next batch begins. */
  let after: string | null = null;

  /** Goes on until a lap over all clients finds nothing: the rest is leased by other workers. */
  async function startAll(): Promise<void> {
    let found = 0;
    while (!loop.stopped && temporal()) {
      used = Math.max(used, idleTime() - BATCH * IDLE_FOR_START);
      const affordable = Math.floor((idleTime() - used) / IDLE_FOR_START);
      if (affordable < 1) {
        await loop.pause(REST);
        continue;
      }
      if (after === null) found = 0;
      const { events, last } = await leaseEvents(db, Math.min(size, affordable), after);
      after = last;
      found += events.length;
      if (events.length > 0) await startBatch(events);
      if (last === null && found === 0) return;
    }
  }

  async function startBatch(events: readonly LeasedEvent[]): Promise<void> {
    const starts = await readStarts(db, events);
    // The record of the first attempt that is still to come inserts a row again.
    const early = starts.filter((start) => start.event.state === 'delivered' && start.isQueued && !mayRun(start));
    const started = starts.filter((start) => !early.includes(start));
    const results = await Promise.all(started.map((start) => limit(() => startOne(start))));
    const eventsOf = (some: typeof starts) => some.map(({ event }) => event);
    const done = started.filter((_, i) => results[i] === undefined);
    const failed = started.filter((_, i) => results[i] !== undefined);
    failpoint('before-mark');
    if (done.length + early.length > 0) await markDone(db, eventsOf([...done, ...early]));
    failpoint('after-mark');
    const faults = results.filter((result) => result !== undefined);
    if (failed.length > 0) {
      log.warn({ err: faults[0], events: failed.length }, 'workflows could not be started; next try in a second');
      await leaseAgain(db, eventsOf(failed), RETRY_AFTER);
    }
    // An event whose input Temporal rejects delays no other event.
    const isOverloaded = faults.some((fault) => !isRefusedInput(fault));
    size = isOverloaded ? Math.ceil(size / 2) : Math.min(BATCH, size + 1);
    if (isOverloaded && done.length === 0) await loop.pause(RETRY_AFTER * 1_000);
  }

  /** @returns the fault; undefined: the workflow knows the event's state, or none is needed */
  async function startOne(start: EventStart<LeasedEvent>): Promise<unknown> {
    const { state } = start.event;
    if (workflows === 'retries-only' && state !== 'again' && !start.input.deliveries.some(isUnsuccessful))
      return undefined;
    try {
      const client = temporal();
      if (!client) throw new Error('Temporal is unavailable');
      used += IDLE_FOR_START;
      failpoint('before-start');
      await startDeliverEvent(client, start, state);
      failpoint('after-start');
      return undefined;
    } catch (error) {
      return error ?? new Error('unknown fault');
    }
  }

  const loop = new Periodic({
    interval: POLL,
    isDue: async () => (await waiting()).starts,
    run: startAll,
    onFault: (error) => {
      reportTo(log, 'starting workflows failed; next try in a second')(error);
      return loop.pause(RETRY_AFTER * 1_000);
    },
  });
  return loop;
}

/**
 * Whether the event may have a workflow already, because a delivery has failed before. It waits for the record of an
 * attempt that it found queued.
 */
function mayRun({ input: { deliveries } }: EventStart): boolean {
  const isRetried = (one: DeliveryProgress) => one.attemptCount > 1 || (one.attemptCount === 1 && isUnsuccessful(one));
  return deliveries.some((one) => one.attemptCount > 2 || (deliveries.length > 1 && isRetried(one)));
}

const isUnsuccessful = ({ status }: { status: string }) => status === 'pending' || status === 'failed';

/** An event whose workflow is due, and what the workflow starts with. */
export interface EventStart<Event extends EventRow = EventRow> {
  event: Event;
  input: DeliverEventInput;
  /** A delivery is in the queue, and has had no attempt. */
  isQueued: boolean;
}

interface DeliveryRow extends Omit<DeliveryProgress, 'host'> {
  eventId: string;
  url: string;
  maxConcurrency: number | null;
  isQueued: boolean;
}

/** Reads the deliveries of an event as its workflow shows them. */
export async function readProgress(db: Handle, eventId: string): Promise<DeliveryProgress[]> {
  return (await readRows(db, [eventId])).map(toProgress);
}

/** Reads what the workflows of these events start with: the present state of each delivery. */
export async function readStarts<Event extends EventRow>(db: Handle, events: readonly Event[]) {
  const ids = events.map(({ eventId }) => eventId);
  const rows = await readRows(db, ids);
  return events.map((event): EventStart<Event> => {
    const own = rows.filter(({ eventId }) => eventId === event.eventId);
    const { eventId, clientId, type, body } = event;
    const input = { eventId, clientId, title: eventTitle(type, body), deliveries: own.map(toProgress) };
    return { event, input, isQueued: own.some(({ isQueued }) => isQueued) };
  });
}

/** Copies field by field, so that a workflow's history holds nothing that is not named here. */
function toProgress(row: DeliveryRow): DeliveryProgress {
  return {
    deliveryId: row.deliveryId,
    ...receiverOf({ id: row.webhookId, url: row.url, description: row.description }),
    status: row.status,
    reason: row.reason,
    attemptCount: row.attemptCount,
    lastOutcome: row.lastOutcome,
    nextAttemptAt: row.nextAttemptAt,
    wait: row.wait,
  };
}

/** SQL: the columns of a `DeliveryRow`, and the tables that they come from. */
const PROGRESS = `
d.event_id as "eventId", d.id as "deliveryId", d.endpoint_id as "webhookId", e.url, e.description,
${AT_ONCE} as "maxConcurrency", d.status::text, d.reason,
d.attempt_count as "attemptCount", coalesce(a.response_status::text, a.error) as "lastOutcome",
to_char(d.next_attempt_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "nextAttemptAt",
case when d.next_attempt_at is not null then
  least(greatest(0, ceil(extract(epoch from d.next_attempt_at - now()) * 1000)), 2147483647)::int end as wait,
d.status = 'pending' and not d.asleep and d.attempt_count = 0 as "isQueued"
  from deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  left join attempts a on a.delivery_id = d.id and a.number = d.attempt_count`;

function readRows(db: Handle, eventIds: readonly string[]): Promise<DeliveryRow[]> {
  return db.query<DeliveryRow>(`select ${PROGRESS} where d.event_id = any($1::uuid[]) order by d.id`, [eventIds]);
}

/**
 * Reads one delivery, and the limit of its endpoint, which is for no history.
 * @returns undefined if it is gone: lost in a restore of Postgres, or removed by retention
 */
export async function readDelivery(db: Handle, deliveryId: string) {
  const [row] = await db.query<DeliveryRow>(`select ${PROGRESS} where d.id = $1::uuid`, [deliveryId]);
  return row && { progress: toProgress(row), maxConcurrency: row.maxConcurrency };
}

/**
 * Starts the workflow of an event, whose first task runs at once on the worker of this process. `delivered`: once.
 * `start`: unless it runs. `again`, and where it may run: wakes it if it runs, so that it reads its deliveries again.
 */
export function startDeliverEvent(client: Client, start: EventStart, how: DueState): Promise<void> {
  const attributes = { temporalWorkflowID: start.event.eventId };
  const { traceparent } = start.event;
  return inSpan('StartWorkflow:deliverEvent', { kind: SpanKind.CLIENT, attributes, traceparent }, async () => {
    const workflowIdReusePolicy = how === 'delivered' ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE';
    const workflow = { ...workflowOf(start), workflowIdReusePolicy } as const;
    const requestEagerStart = client.connection instanceof NativeConnection;
    await startUnlessRunning(client, () =>
      how === 'again' || mayRun(start)
        ? client.workflow.signalWithStart('deliverEvent', { ...workflow, signal: 'wake' })
        : client.workflow.start('deliverEvent', { ...workflow, requestEagerStart }),
    );
  });
}

/**
 * Endpoints in `WebhookIds`: Temporal rejects a search attribute of more than 2,048 bytes, and with it the workflow.
 */
const FOUND_BY = 50;

/** Id, summary and search attributes of the workflow, by which operators find it. */
export function workflowOf({ event, input }: EventStart) {
  const [first, ...others] = input.deliveries;
  const to = first && others.length === 0 ? receiverName(first) : `${input.deliveries.length} endpoints`;
  return {
    workflowId: event.eventId,
    taskQueue: TASK_QUEUE,
    args: [input],
    priority: { fairnessKey: input.clientId },
    staticSummary: `${input.title} → ${to}`,
    typedSearchAttributes: [
      { key: ClientId, value: input.clientId },
      { key: TransferId, value: event.transferId },
      { key: EventType, value: event.type },
      { key: WebhookIds, value: input.deliveries.slice(0, FOUND_BY).map(({ webhookId }) => webhookId) },
      { key: DeliveryState, value: stateOf(input.deliveries) },
    ],
  };
}
