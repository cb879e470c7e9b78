import { type Command, InvalidArgumentError } from 'commander';
import { personHere } from '../audit/actor.js';
import type { Handle } from '../database/database.js';
import { DeliveryStatus } from '../database/generated/enums.js';
import { presentDelivery, presentDeliveryWithAttempts } from '../http/presenters/delivery.js';
import { explainAttempt } from '../webhooks/explain-attempt.js';
import { EXPLANATIONS } from '../webhooks/explain-signature.js';
import { listDeliveriesForOperator } from '../webhooks/list-for-operator.js';
import { type DeliveryRecord, getDeliveryWithAttempts, SHOWN_ATTEMPTS } from '../webhooks/read-deliveries.js';
import { eventIdsOfTransfer } from '../webhooks/read-events.js';
import { idOf, oneOf, parseDigest, parseLimit, parseSince } from './arguments.js';
import { setAction } from './command.js';
import { addRestore } from './deliveries-restore.js';
import { deliveryDetails, deliveryTable } from './delivery-view.js';
import { masterKeysOf, withDatabase } from './with-database.js';

const STATUSES = Object.values(DeliveryStatus);

interface ListOptions {
  status?: DeliveryStatus;
  client?: string;
  endpoint?: string;
  event?: string;
  transfer?: string;
  since?: number;
  limit: number;
}

/** `deliveries …`: deliveries of all clients, their attempts, retries and repair. */
export function addDeliveries(program: Command): void {
  const deliveries = program.command('deliveries').description('list, show, retry and repair deliveries');

  setAction(
    deliveries
      .command('list')
      .description('list the deliveries of all clients, newest first')
      .option('--status <status>', STATUSES.join(' | '), oneOf(STATUSES, `Give one of ${STATUSES.join(', ')}.`))
      .option('--client <client_id>', 'only deliveries of this client', idOf('client'))
      .option('--endpoint <webhookId>', 'only deliveries to this endpoint', idOf('webhook endpoint'))
      .option('--event <event_id>', 'only deliveries of this event', idOf('event'))
      .option('--transfer <transfer_id>', "only deliveries of this transfer's events", idOf('transfer'))
      .option('--since <time>', 'only deliveries created since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince)
      .option('--limit <n>', 'at most this many deliveries', parseLimit, 50),
    async (options: ListOptions) => {
      const found = await withDatabase((database) => list(database, options));
      return {
        json: found.map((delivery) => ({ ...presentDelivery(delivery), client_id: delivery.clientId })),
        text: deliveryTable(found),
      };
    },
  );

  setAction(
    deliveries
      .command('show')
      .argument('<delivery_id>', '', idOf('delivery'))
      .description(`show a delivery with its latest ${SHOWN_ATTEMPTS} attempts and those that are planned`),
    async (id: string) => {
      const delivery = await withDatabase((database, environment) =>
        getDeliveryWithAttempts(database, null, id, environment.DELIVERY_RETRY_DELAYS),
      );
      const json = { ...presentDeliveryWithAttempts(delivery), client_id: delivery.clientId };
      return { json, text: deliveryDetails(delivery) };
    },
  );

  setAction(
    deliveries
      .command('retry')
      .argument('<delivery_id>', '', idOf('delivery'))
      .description('make one attempt now, for a waiting or an ended delivery'),
    async (id: string) => {
      await withDatabase(async (database, environment) => {
        // Loading this module dominates the start of a command, so only the command that needs it loads it.
        const { retryFromOutside } = await import('../workflow-starts/retry-from-outside.js');
        await retryFromOutside(database, environment, personHere(), id);
      });
      return { json: { id, retried: true }, text: `delivery ${id} is retried now` };
    },
  );
  setAction(
    deliveries
      .command('explain')
      .argument('<delivery_id>', '', idOf('delivery'))
      .requiredOption('--attempt <n>', 'the number of the attempt', parseAttempt)
      .requiredOption('--v0 <digest>', 'the digest that the receiver computed', parseDigest)
      .description('name the mistake by which a receiver computed another signature'),
    async (deliveryId: string, { attempt: number, v0 }: { attempt: number; v0: string }) => {
      const explanation = await withDatabase((database, environment) =>
        explainAttempt(database, masterKeysOf(environment), null, { deliveryId, number }, v0),
      );
      const detail = EXPLANATIONS[explanation];
      return { json: { explanation, detail }, text: `${explanation}: ${detail}` };
    },
  );
  addRestore(deliveries);
}

function parseAttempt(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give the number of an attempt, such as 1.');
  return Number(text);
}

async function list(db: Handle, options: ListOptions): Promise<DeliveryRecord[]> {
  const { status, client: clientId, endpoint: endpointId, event, transfer, since, limit: take } = options;
  const ofTransfer = transfer === undefined ? undefined : await eventIdsOfTransfer(db, transfer);
  const eventIds = event === undefined ? ofTransfer : [event].filter((id) => ofTransfer?.includes(id) ?? true);
  return listDeliveriesForOperator(db, { status, clientId, endpointId, eventIds, since, take });
}
