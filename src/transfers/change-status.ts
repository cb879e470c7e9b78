import {
  type AppendedEvent,
  type Appender,
  appendEvents,
  appendValues,
  handOverAfterCommit,
  type LeasedEndpoint,
  toQueuedEvent,
} from '../delivery/append.js';
import { eventContent } from '../delivery/event-catalogue.js';
import type { Handover } from '../delivery/handover.js';
import { KEPT } from '../delivery/workflow-starts.js';
import type { Action, By } from '../platform/audit.js';
import { Batcher } from '../platform/database/batcher.js';
import type { Handle, Sharing } from '../platform/database/database.js';
import type { TransferStatus } from '../platform/database/generated/enums.js';
import { timeLeft } from '../platform/deadline.js';
import { NOW, newIdSql } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import { currentTraceparent } from '../platform/telemetry/traces.js';
import { NEXT_STATUSES, type ReasonCode, TRANSFER_STATUSES } from './states.js';
import { type Transfer, type TransferJson, toTransfer, transferJson } from './transfer-json.js';

/**
 * Changes the status and makes the event with its deliveries, all in one statement. The statement compares and sets the
 * status that its own snapshot saw, so that of two concurrent changes one wins and the other is refused.
 * The statement also gives the time, by Postgres's clock and at least a millisecond after the transfer's last: APIs
 * whose clocks differ neither turn the order of two changes round nor that of their events.
 * Outside of a transaction, and in one that requests share, concurrent changes share a statement.
 * @throws Refusal `not_found` | `invalid_transition`
 */
export async function changeStatus(db: Handle, handover: Handover, request: StatusChangeRequest): Promise<Transfer> {
  const { transferId, to: status } = request;
  const allowed = (request.from ?? TRANSFER_STATUSES).filter((from) => NEXT_STATUSES[from].includes(status));
  const content = eventContent({ type: EVENT_TYPE, data: { id: transferId, status } });
  const traceparent = currentTraceparent();
  const change = { request, allowed, content, traceparent };
  // A step of the sandbox has a statement of its own.
  const batcher = request.sandboxStep ? undefined : batcherOf(db, handover);
  const row = batcher ? await batcher.run(change) : (await changeAndHandOver(db, handover, [change]))[0];
  if (!row) throw new Refusal('not_found', 'There is no such transfer.');
  const { changed, started } = row;
  if (!changed) throw refused(row.seen, status, allowed);
  // The change is committed: near its deadline, the request waits for nothing more.
  if (timeLeft() > IN_TIME) await started;
  return toTransfer(changed);
}

const IN_TIME = 1_000;
const BATCH = 64;
const BATCHES_AT_ONCE = 2;
/** ms. A request waits for it only where changes come faster. */
const GATHER = 8;

type ChangeBatcher = Batcher<Change, HandedOver | undefined>;
const batchers = new WeakMap<Sharing, WeakMap<Handover, ChangeBatcher>>();

/**
 * The batcher of the changes that share a statement with this one; undefined: the change is alone in its transaction.
 */
function batcherOf(db: Handle, handover: Handover): ChangeBatcher | undefined {
  const { sharing } = db;
  if (!sharing) return undefined;
  const known = batchers.get(sharing) ?? new WeakMap<Handover, ChangeBatcher>();
  batchers.set(sharing, known);
  const batcher =
    known.get(handover) ??
    new Batcher<Change, HandedOver | undefined>({
      run: (changes) => changeAndHandOver(db, handover, changes),
      size: BATCH,
      ...(sharing.inTransaction ? { isPart: true } : { concurrency: BATCHES_AT_ONCE, gather: GATHER }),
      ...sharing.limits,
    });
  known.set(handover, batcher);
  return batcher;
}

/** A changed row, and when the change may be answered: see `Handover.committed`. */
type HandedOver = ChangedRow & { started: Promise<void> | undefined };

async function changeAndHandOver(db: Handle, handover: Handover, changes: readonly Change[]) {
  const leasedAt = performance.now();
  const rows = await changeAll(db, handover, changes);
  const receivers = new Map(rows.flatMap((row) => (row?.receivers ?? []).map((one) => [one.endpointId, one] as const)));
  return rows.map((row, i): HandedOver | undefined => {
    if (!row?.changed || !row.event) return row && { ...row, started: undefined };
    const { clientId } = row.changed;
    const event = toQueuedEvent(row.event, receivers, {
      ...{ clientId, traceparent: changes[i]?.traceparent ?? null, leasedAt },
    });
    return { ...row, started: handOverAfterCommit(db, handover, event) };
  });
}

function refused(seen: TransferStatus, to: TransferStatus, allowed: readonly TransferStatus[]): Refusal {
  const next = NEXT_STATUSES[seen].join(', ') || 'nothing, it is final';
  const detail = allowed.includes(seen)
    ? `The transfer was ${seen}, and another request has just changed it.`
    : `The transfer is ${seen} and may not become ${to} this way; from here: ${next}.`;
  return new Refusal('invalid_transition', detail);
}

export interface StatusChangeRequest {
  transferId: string;
  /** The client that must own the transfer; absent: any client (the operator). */
  clientId?: string;
  /** Who changes it, for the audit entry; absent: no entry. */
  by?: By;
  to: TransferStatus;
  reason: string | null;
  /** Allowed only with a status of STATUSES_WITH_REASON_CODE; absent: no code. */
  reasonCode?: ReasonCode | null;
  /** Narrows the statuses from which the change is allowed, as a client's `/cancel` does. */
  from?: readonly TransferStatus[];
  /** The automatic step of the sandbox that this change is; recorded in the same statement. */
  sandboxStep?: { number: number; isLast: boolean };
}

/** A change of status, and the event that it makes. */
export interface Change {
  request: StatusChangeRequest;
  allowed: readonly TransferStatus[];
  /** `eventContent` */
  content: string;
  traceparent: string | null;
}

/** The result for one change. `changed` is null if the status that the statement saw did not allow the change. */
export interface ChangedRow {
  /** Of the change in the statement, from 1. */
  position: number;
  seen: TransferStatus;
  changed: TransferJson | null;
  event: AppendedEvent | null;
  /** Of all events of the statement; null but in one row. */
  receivers: readonly LeasedEndpoint[] | null;
}

export const EVENT_TYPE = 'transfer.status_changed';
const SET_STATUS: Action = 'transfers.set-status';

/**
 * Makes the changes in one statement. An automatic step is alone in it: the statement records the step too, and changes
 * nothing unless the steps before this one are recorded and this one is not. A workflow that starts again begins after
 * this step; after the last step none does.
 * @param handover gives the ladder, and what is leased
 * @returns a row for each change, in the given order; undefined if the transfer does not exist, or the step is not due
 */
export async function changeAll(
  db: Handle,
  handover: Appender,
  changes: readonly Change[],
): Promise<(ChangedRow | undefined)[]> {
  const values = [
    changes.map(({ request }) => request.transferId),
    changes.map(({ request }) => request.clientId ?? null),
    changes.map(({ request }) => request.to),
    changes.map(({ allowed }) => `{${allowed.join()}}`),
    changes.map(({ request }) => request.reason),
    changes.map(({ request }) => request.reasonCode ?? null),
    changes.map(({ content }) => content),
    changes.map(({ request: { by } }) => (by ? JSON.stringify(by) : null)),
    changes.map(({ traceparent }) => traceparent),
    ...appendValues(EVENT_TYPE, handover),
    SET_STATUS,
  ];
  const step = changes[0]?.request.sandboxStep;
  const rows = step
    ? await db.query<ChangedRow>(CHANGE_BY_STEP, [...values, step.number, step.isLast])
    : await db.hot<ChangedRow>(CHANGE_STATUS, values);
  const byPosition = new Map(rows.map((row) => [row.position, row]));
  return changes.map((_, i) => byPosition.get(i + 1));
}

/**
 * `seen` is read once and kept (materialized), so that an update that waited for another commit compares the new row
 * with the old status and changes nothing. If `input` has several changes of one transfer, the update applies only one
 * of them. An audit entry has the id of the event that the change made.
 * @param where a condition on the transfers that may change, `i.transfer_id`
 * @param record a further CTE, which may read `changed`
 */
const changeStatement = (where = '', record = '') => `
with input as (
  select * from unnest($1::uuid[], $2::uuid[], $3::transfer_status[], $4::text[], $5::text[], $6::text[], $7::text[],
                       $8::text[], $9::text[]) with ordinality
    as i(transfer_id, client_id, status, allowed, reason, reason_code, content, by, traceparent, position)
), seen as materialized (
  select i.*, t.status as seen
    from input i join transfers t on t.id = i.transfer_id and (i.client_id is null or t.client_id = i.client_id)
   ${where}
   order by i.transfer_id
), changed as (
  update transfers t set status = s.status, reason_code = s.reason_code,
         updated_at = greatest((select ${NOW}), t.updated_at + interval '1 millisecond')
    from seen s
   where t.id = s.transfer_id and t.status = s.seen and s.seen = any(s.allowed::transfer_status[])
  returning s.position, s.reason, s.reason_code, s.content, s.by::jsonb, s.traceparent, s.seen, t.id as transfer_id, t.client_id,
            t.status, t.updated_at as at, ${newIdSql('t.updated_at')} as event_id, ${transferJson('t')} as transfer
), history as (
  insert into transfer_status_history (transfer_id, position, status, at, reason, reason_code)
  select c.transfer_id, (select max(h.position) + 1 from transfer_status_history h where h.transfer_id = c.transfer_id), c.status, c.at, c.reason,
         c.reason_code
    from changed c
), audit as (
  insert into audit_entries (id, at, actor, action, target, details)
  select c.event_id, c.at, c.by->>'actor', $14::text, c.transfer_id,
         jsonb_strip_nulls(jsonb_build_object('client_id', c.client_id, 'from', c.seen, 'to', c.status, 'reason', c.reason,
                                              'reason_code', c.reason_code)) || coalesce(c.by->'session', '{}')
    from changed c where c.by is not null
), ${appendEvents('changed', ['$10', '$11', '$12', '$13'])}${record}
select s.position::int, s.seen::text as seen, c.transfer as changed, a.event,
       case when row_number() over () = 1 then (select receivers from leased_of) end as receivers
  from seen s
  left join changed c on c.position = s.position
  left join appended a on a.event_id = c.event_id`;

const CHANGE_STATUS = changeStatement();

const CHANGE_BY_STEP = changeStatement(
  `where exists (select from sandbox_transfers x
                  where x.transfer_id = i.transfer_id and x.steps_made = $15::int - 1 and x.ended_at is null)`,
  `, step as (
  update sandbox_transfers x set steps_made = $15::int, ended_at = case when $16::boolean then now() end
    from changed c where x.transfer_id = c.transfer_id
), kept as (
  update workflow_starts w set ${KEPT}, input = w.input || jsonb_build_object('made', $15::int)
    from changed c where not $16::boolean and w.workflow_id = 'sandbox-' || c.transfer_id
), ended as (
  delete from workflow_starts w using changed c where $16::boolean and w.workflow_id = 'sandbox-' || c.transfer_id
)`,
);
