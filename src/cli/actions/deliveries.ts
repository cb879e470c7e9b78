import { showClient } from '../../auth/clients.js';
import type { Handle } from '../../database/database.js';
import type { DeliveryStatus } from '../../database/generated/enums.js';
import { presentDelivery, presentDeliveryWithAttempts } from '../../http/presenters/delivery.js';
import { explainAttempt } from '../../webhooks/explain-attempt.js';
import { EXPLANATIONS } from '../../webhooks/explain-signature.js';
import { listDeliveriesForOperator } from '../../webhooks/list-for-operator.js';
import { type DeliveryRecord, getDeliveryWithAttempts } from '../../webhooks/read-deliveries.js';
import { eventIdsOfTransfer } from '../../webhooks/read-events.js';
import type { CommandResult } from '../command.js';
import { deliveryDetails, deliveryTable } from '../delivery-view.js';
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
  const delivery = await withDatabase((database, environment) =>
    getDeliveryWithAttempts(database, null, id, environment.DELIVERY_RETRY_DELAYS),
  );
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
