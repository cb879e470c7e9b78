import { showClient } from '../../auth/clients.js';
import { EXPLANATIONS, explainAttempt } from '../../checks/explain-signature.js';
import { eventTitle } from '../../delivery/event-catalogue.js';
import { notifyHandover } from '../../delivery/notifications.js';
import { presentDelivery, presentDeliveryWithAttempts } from '../../http/schemas/delivery.js';
import { personHere } from '../../platform/audit.js';
import type { Handle } from '../../platform/database/database.js';
import type { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { eventIdsOfTransfer, listDeliveriesForOperator } from '../../reports/list-deliveries.js';
import {
  type DeliveryRecord,
  type DeliveryWithAttempts,
  getDeliveryWithAttempts,
  type LastAttempt,
} from '../../reports/read-deliveries.js';
import type { CommandResult } from '../command.js';
import type { Table, View } from '../view.js';
import { masterKeysOf, withDatabase } from '../with-database.js';

interface ListOptions {
  status?: DeliveryStatus;
  client?: string;
  endpoint?: string;
  event?: string;
  transfer?: string;
  since?: number;
  limit: number;
}

/** `deliveries list` */
export async function list(options: ListOptions): Promise<CommandResult> {
  const found = await withDatabase((database) => find(database, options));
  return {
    json: found.map((delivery) => ({ ...presentDelivery(delivery), client_id: delivery.clientId })),
    text: deliveryTable(found),
  };
}

/** `deliveries show` */
export async function show(id: string): Promise<CommandResult> {
  const delivery = await withDatabase((database) => getDeliveryWithAttempts(database, null, id));
  const json = { ...presentDeliveryWithAttempts(delivery), client_id: delivery.clientId };
  return { json, text: deliveryDetails(delivery) };
}

/** `deliveries explain` */
export async function explain(
  deliveryId: string,
  { attempt: number, v0 }: { attempt: number; v0: string },
): Promise<CommandResult> {
  const explanation = await withDatabase((database, environment) =>
    explainAttempt(database, masterKeysOf(environment), null, { deliveryId, number }, v0),
  );
  const detail = EXPLANATIONS[explanation];
  return { json: { explanation, detail }, text: `${explanation}: ${detail}` };
}

async function find(db: Handle, options: ListOptions): Promise<DeliveryRecord[]> {
  const { status, client: clientId, endpoint: endpointId, event, transfer, since, limit: take } = options;
  // A mistyped id is an error; an empty list means that the client has no such deliveries.
  if (clientId !== undefined) await showClient(db, clientId);
  const ofTransfer = transfer === undefined ? undefined : await eventIdsOfTransfer(db, transfer);
  const eventIds = event === undefined ? ofTransfer : [event].filter((id) => ofTransfer?.includes(id) ?? true);
  return listDeliveriesForOperator(db, { status, clientId, endpointId, eventIds, since, take });
}

/** `deliveries retry` */
export async function retry(id: string): Promise<CommandResult> {
  const { retryDelivery } = await import('../../delivery/retry.js');
  await withDatabase(async (database, environment) => {
    const handover = notifyHandover(database, environment.DELIVERY_RETRY_DELAYS);
    await retryDelivery(database, handover, { by: { actor: personHere() }, clientId: null, deliveryId: id });
    await handover.flush();
  });
  return { json: { id, retried: true }, text: `delivery ${id} is retried now` };
}

/** `deliveries lost`. It alone needs Temporal's SDK. */
export async function lost({ since }: { since: number }): Promise<CommandResult> {
  const { findLostEvents } = await import('../../delivery/lost-events.js');
  const found = await withDatabase((database, environment) => findLostEvents(database, environment, since));
  const rows = found.map((event) => [
    event.event_id,
    event.client_id,
    event.transfer_id,
    event.type,
    new Date(event.started_at),
  ]);
  const columns = ['event', 'client', 'transfer', 'type', 'started'];
  return { json: found, text: { columns, rows, none: 'no lost events' } };
}

/** Characters of a response body that are shown; `--json` has the whole stored body. */
const BODY_SHOWN = 120;

function deliveryTable(deliveries: readonly DeliveryRecord[]): Table {
  return {
    columns: [
      'delivery',
      'transfer',
      'status',
      'attempts',
      'last',
      { wraps: 'receiver' },
      'next attempt',
      'reason',
      'created',
    ],
    rows: deliveries.map((delivery) => {
      const last = delivery.lastAttempt;
      return [
        delivery.id,
        presentDelivery(delivery).transfer_status,
        delivery.status,
        delivery.attemptCount,
        last ? outcomeOf(last) : null,
        new URL(delivery.endpoint.url).host,
        delivery.nextAttemptAt,
        delivery.reason,
        delivery.createdAt,
      ];
    }),
    none: 'no deliveries',
  };
}

function deliveryDetails(delivery: DeliveryWithAttempts): View {
  return [
    {
      fields: {
        delivery: delivery.id,
        status: delivery.status + (delivery.reason ? ` (${delivery.reason})` : ''),
        client: delivery.clientId,
        event: delivery.eventId,
        type: eventTitle(delivery.event.type, delivery.event.body),
        transfer: delivery.event.transferId,
        endpoint: delivery.endpointId,
        url: delivery.endpoint.url,
        created: delivery.createdAt,
        attempts: delivery.attemptCount,
        'next attempt': delivery.nextAttemptAt,
        finished: delivery.finishedAt,
      },
    },
    {
      columns: ['attempt', 'trigger', 'started', 'response', 'took', { wraps: 'body' }],
      rows: delivery.attempts.map((attempt) => [
        attempt.number,
        attempt.trigger,
        attempt.startedAt,
        outcomeOf(attempt),
        `${attempt.durationMs} ms`,
        shortened(attempt.responseBody),
      ]),
      none: 'no attempt yet',
    },
    {
      columns: ['planned', 'at, if each attempt fails at once'],
      rows: delivery.planned.map(({ number, at }) => [number, at]),
      none: 'no attempt is planned',
    },
  ];
}

/**
 * The status of the response (`503`), or the error where there was none (`timeout`); both for a refused redirect, for
 * example.
 */
function outcomeOf({ responseStatus, error }: Pick<LastAttempt, 'responseStatus'> & { error: string | null }): string {
  const parts = [responseStatus, error === 'status' ? null : error];
  return parts.filter((part) => part !== null).join(' ');
}

function shortened(body: string | null): string | null {
  return body !== null && body.length > BODY_SHOWN ? `${body.slice(0, BODY_SHOWN)}…` : body;
}
