import type { Handle } from '../database/database.js';
import type { Transfer } from '../database/generated/client.js';
import type { TransferStatus } from '../database/generated/enums.js';
import { newId } from '../ids.js';
import type { FreshDelivery, Handover } from '../outbox/handover.js';
import { LEASE } from '../outbox/lease.js';
import { Refusal } from '../refusal.js';
import { TRANSFER_STATUS_CHANGED, transferStatusChanged } from '../webhooks/event-body.js';
import { nextStatuses, previousStatuses } from './states.js';

export interface StatusChangeRequest {
  transferId: string;
  /** Whose transfer it must be; left out: anybody's (the operator). */
  clientId?: string;
  to: TransferStatus;
  reason: string | null;
  /** Narrows the statuses it may be changed from, as a client's `/cancel` does. */
  from?: readonly TransferStatus[];
}

/**
 * Changes the status and makes the event with its deliveries, all in one statement: compare and set on the status that
 * the statement's own snapshot saw, so that of two changes at the same moment one wins and the other is refused.
 * The insert of a delivery is also the claim of its first attempt where `handover` takes it (design, The one path).
 * @throws Refusal `not_found` | `invalid_transition`
 */
export async function changeStatus(db: Handle, handover: Handover, request: StatusChangeRequest): Promise<Transfer> {
  const createdAt = Date.now();
  const eventId = newId(createdAt);
  const allowed = previousStatuses(request.to).filter((from) => request.from?.includes(from) ?? true);
  const body = transferStatusChanged({
    id: eventId,
    transferId: request.transferId,
    status: request.to,
    createdAt,
  });
  const [row] = await db.query<Row>(CHANGE_STATUS, [
    request.transferId,
    request.clientId ?? null,
    request.to,
    allowed,
    new Date(createdAt).toISOString(),
    request.reason,
    eventId,
    TRANSFER_STATUS_CHANGED,
    body,
    handover.claims,
    LEASE.seconds,
  ]);
  if (!row) throw new Refusal('not_found', 'There is no such transfer.');
  if (!row.changed) throw refused(row.seen, request.to, allowed);
  const event = {
    eventId,
    clientId: row.changed.client_id,
    transferId: request.transferId,
    type: TRANSFER_STATUS_CHANGED,
    status: request.to,
    body,
    deliveries: row.deliveries,
  };
  db.afterCommit(() => handover.committed(event));
  return toTransfer(row.changed);
}

function refused(seen: TransferStatus, to: TransferStatus, allowed: readonly TransferStatus[]): Refusal {
  const next = nextStatuses(seen);
  if (allowed.includes(seen)) {
    return new Refusal('invalid_transition', `The transfer was ${seen} and has just been changed by another request.`);
  }
  return new Refusal(
    'invalid_transition',
    next.length === 0
      ? `The transfer is ${seen}, which is final.`
      : `The transfer is ${seen} and may not become ${to} this way; from here: ${next.join(', ')}.`,
  );
}

interface Row {
  seen: TransferStatus;
  changed: TransferRow | null;
  deliveries: FreshDelivery[];
}

interface TransferRow {
  id: string;
  client_id: string;
  amount_value: number;
  amount_currency: string;
  destination_name: string;
  destination_account: string;
  reference: string | null;
  metadata: Record<string, string>;
  status: TransferStatus;
  created_at: string;
  updated_at: string;
}

function toTransfer(row: TransferRow): Transfer {
  return {
    id: row.id,
    clientId: row.client_id,
    amountValue: BigInt(row.amount_value),
    amountCurrency: row.amount_currency,
    destinationName: row.destination_name,
    destinationAccount: row.destination_account,
    reference: row.reference,
    metadata: row.metadata,
    status: row.status,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  };
}

/**
 * `seen` is read once and kept (materialized), so that an update that waited for another's commit compares the new row
 * with the old status and changes nothing. A delivery's id is a UUID version 7 with the event's time.
 */
const CHANGE_STATUS = `
with seen as materialized (
  select id, status from transfers where id = $1::uuid and ($2::uuid is null or client_id = $2::uuid)
), changed as (
  update transfers t set status = $3::transfer_status, updated_at = $5::timestamptz
    from seen
   where t.id = seen.id and t.status = seen.status and seen.status = any($4::transfer_status[])
  returning t.*
), history as (
  insert into transfer_status_history (transfer_id, position, status, at, reason)
  select c.id, (select max(h.position) + 1 from transfer_status_history h where h.transfer_id = $1::uuid),
         $3::transfer_status, $5::timestamptz, $6::text
    from changed c
), receivers as (
  select e.id, e.url, e.secret_envelope
    from changed c join webhook_endpoints e on e.client_id = c.client_id and e.enabled and e.deleted_at is null
), event as (
  insert into events (id, client_id, transfer_id, type, body, created_at, outbox, lease_until)
  select $7::uuid, c.client_id, c.id, $8::text, $9::text, $5::timestamptz,
         case when exists (select from receivers) then 'attempt' else 'start' end::outbox_state,
         case when $10::boolean and exists (select from receivers) then now() + $11::int * interval '1 second' else now() end
    from changed c
), delivery as (
  insert into deliveries (id, event_id, endpoint_id, client_id, next_attempt_at, attempting_until, created_at)
  select (substr($7::text, 1, 13) || '-7' || substr(gen_random_uuid()::text, 16))::uuid, $7::uuid, r.id, c.client_id,
         $5::timestamptz, case when $10::boolean then now() + $11::int * interval '1 second' end, $5::timestamptz
    from changed c cross join receivers r
  returning id, endpoint_id
)
select seen.status::text as seen,
       (select row_to_json(c) from changed c) as changed,
       (select coalesce(json_agg(json_build_object(
                 'deliveryId', d.id, 'endpointId', d.endpoint_id, 'url', r.url, 'secretEnvelope', r.secret_envelope)), '[]')
          from delivery d join receivers r on r.id = d.endpoint_id) as deliveries
  from seen`;
