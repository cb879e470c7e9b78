import { Option } from 'commander';
import { DIGEST_EXPLANATIONS } from '../../../clients/typescript/src/explain.js';
import { showClient } from '../../auth/clients.js';
import { explainAttempt } from '../../checks/explain-signature.js';
import { notifyHandover } from '../../delivery/notifications.js';
import { retryDelivery } from '../../delivery/retry.js';
import { presentAttempt, presentDelivery, presentDeliveryWithAttempts } from '../../http/schemas/delivery.js';
import { type Handle, readClock } from '../../platform/database/database.js';
import type { Attempt } from '../../platform/database/generated/client.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { SHOWN_ATTEMPTS } from '../../platform/vocabulary.js';
import { getDeliveryWithAttempts, listAttempts, listDeliveries } from '../../reports/read-deliveries.js';
import { type Command, idOf, parseSince, textOf, type When, wholeNumber } from '../command.js';
import { declareList, type Page } from '../list.js';
import { waitFor } from '../terminal.js';
import { masterKeysOf, onDatabase } from '../with-database.js';

const OF_ATTEMPT = [
  'number',
  'trigger',
  'started_at',
  'duration_ms',
  'response_status',
  'error',
  'detail',
  'response_body',
];

/** `deliveries …`: deliveries of all clients, their attempts and retries. */
export function declare(deliveries: Command): void {
  const ofOne = (name: string) => deliveries.command(name).argument('<delivery_id>', '', idOf('delivery'));

  declareList(deliveries, {
    about: 'list the deliveries of all clients, newest first',
    columns: [
      ...['id', 'status', 'attempt_count', 'next_attempt_at'],
      ...['last_attempt.response_status', 'last_attempt.error', 'url'],
    ],
    async read(database, { client, endpoint, event, transfer, since, ...filters }: ListOptions & Page) {
      // A mistyped id is an error; an empty list means that the client has no such deliveries.
      if (client !== undefined) await showClient(database, client);
      const of = { endpointId: endpoint, eventId: event, transferId: transfer };
      return listDeliveries(database, client ?? null, {
        ...filters,
        ...of,
        createdAfter: since && since(await readClock(database)) - 1,
      });
    },
    present: (delivery) => ({ ...presentDelivery(delivery), client_id: delivery.clientId }),
  })
    .addOption(new Option('--status <status>').choices(Object.values(DeliveryStatus)))
    .option('--client <client_id>', 'only deliveries of this client', idOf('client'))
    .option('--endpoint <webhookId>', 'only deliveries to this endpoint', idOf('webhook endpoint'))
    .option('--event <event_id>', 'only deliveries of this event', idOf('event'))
    .option('--transfer <transfer_id>', "only deliveries of this transfer's events", idOf('transfer'))
    .option('--since <time>', 'only deliveries created since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince);

  ofOne('show')
    .description(`show a delivery with its latest ${SHOWN_ATTEMPTS} attempts and its planned ones`)
    .does(show, { attempts: OF_ATTEMPT, planned_attempts: ['number', 'at'] });

  ofOne('retry')
    .option('--wait', 'wait up to 60 s for the attempt; exits with 1 if it fails')
    .description('make one more attempt now; a failure changes neither the status nor the planned attempts')
    .does(retry, { attempt: OF_ATTEMPT });

  ofOne('explain')
    .requiredOption('--attempt <n>', 'the number of the attempt', wholeNumber({ min: 1, max: 999_999_999 }))
    // The API's route accepts as much.
    .requiredOption('--v0 <digest>', 'the digest that the receiver computed', textOf({ max: 512 }))
    .description('find out why a receiver computed a different signature')
    .does(explain);

  deliveries
    .command('lost')
    .description('list events that Temporal has and the database does not: they were lost when Postgres was restored')
    .requiredOption(
      '--since <time>',
      'the time Postgres was restored to: 2h (ago), or 2026-11-21T10:00:00Z',
      parseSince,
    )
    .does(lost, ['event_id', 'client_id', 'transfer_id', 'type', 'started_at']);
}

interface ListOptions {
  status?: DeliveryStatus;
  client?: string;
  endpoint?: string;
  event?: string;
  transfer?: string;
  since?: When;
}

const show = onDatabase(async ({ database }, id: string) => {
  const delivery = await getDeliveryWithAttempts(database, null, id);
  return { json: { ...presentDeliveryWithAttempts(delivery), client_id: delivery.clientId } };
});

const explain = onDatabase(async (context, deliveryId: string, options: { attempt: number; v0: string }) => {
  const { attempt: number, v0 } = options;
  const masterKeys = masterKeysOf(context.environment);
  const explanation = await explainAttempt(context.database, masterKeys, null, { deliveryId, number }, v0);
  return { json: { explanation, detail: DIGEST_EXPLANATIONS[explanation] } };
});

const retry = onDatabase(async ({ database, environment, actor }, id: string, { wait }: { wait?: true }) => {
  const handover = notifyHandover(database, environment.DELIVERY_RETRY_DELAYS);
  const made = await database.transaction(async (tx) => {
    await retryDelivery(tx, handover, { by: { actor }, clientId: null, deliveryId: id });
    // The retry has locked the delivery, so no attempt is recorded in between.
    const { attemptCount } = await getDeliveryWithAttempts(tx, null, id);
    return attemptCount;
  });
  await handover.flush();
  if (!wait) return { json: { id, retried: true } };
  const attempt = presentAttempt(await nextAttempt(database, id, made));
  const { error, response_status } = attempt;
  const failure = error !== null && `the attempt failed: ${error === 'status' ? response_status : error}`;
  return { json: { id, retried: true, attempt }, failure };
});

/** Longer than an attempt takes and waits on a worker that is not overloaded, ms. */
const LONGEST_WAIT = 60_000;

/** Waits for the first attempt after the first `made`. @throws Error of one line */
function nextAttempt(db: Handle, id: string, made: number): Promise<Attempt> {
  return waitFor(LONGEST_WAIT, `no attempt ended within ${LONGEST_WAIT / 1_000} s`, async () => {
    const { attemptCount } = await db.prisma.delivery.findUniqueOrThrow({ where: { id } });
    const [attempt] = attemptCount > made ? await listAttempts(db, id, { before: made + 2, take: 1 }) : [];
    return attempt;
  });
}

/** `deliveries lost`. Only this command needs Temporal's SDK. */
const lost = onDatabase(async ({ database, environment }, { since }: { since: When }) => {
  const { findLostEvents } = await import('../../reports/lost-events.js');
  return { json: await findLostEvents(database, environment, since(await readClock(database))) };
});
