import { InvalidArgumentError } from 'commander';
import { DIGEST_EXPLANATIONS } from '../../../clients/typescript/src/explain.js';
import { showClient } from '../../auth/clients.js';
import { explainAttempt } from '../../checks/explain-signature.js';
import { eventTitle } from '../../delivery/event-catalogue.js';
import { notifyHandover } from '../../delivery/notifications.js';
import { retryDelivery } from '../../delivery/retry.js';
import { presentAttempt, presentDelivery, presentDeliveryWithAttempts } from '../../http/schemas/delivery.js';
import type { Handle } from '../../platform/database/database.js';
import type { Attempt } from '../../platform/database/generated/client.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { SHOWN_ATTEMPTS } from '../../platform/vocabulary.js';
import {
  type DeliveryRecord,
  type DeliveryWithAttempts,
  getDeliveryWithAttempts,
  listAttempts,
  listDeliveries,
} from '../../reports/read-deliveries.js';
import { type Command, idOf, oneOf, parseLimit, parseSince, wholeNumber } from '../command.js';
import { report, waitFor } from '../terminal.js';
import { outcomeOf, pageOf, type Table, type View } from '../view.js';
import { masterKeysOf, onDatabase, requireTemporalStarted } from '../with-database.js';

const STATUSES = Object.values(DeliveryStatus);

/** `deliveries …`: deliveries of all clients, their attempts and retries. */
export function declare(deliveries: Command): void {
  const ofOne = (name: string) => deliveries.command(name).argument('<delivery_id>', '', idOf('delivery'));

  deliveries
    .command('list')
    .description('list the deliveries of all clients, newest first')
    .option('--status <status>', STATUSES.join(' | '), oneOf(STATUSES, `Give one of ${STATUSES.join(', ')}.`))
    .option('--client <client_id>', 'only deliveries of this client', idOf('client'))
    .option('--endpoint <webhookId>', 'only deliveries to this endpoint', idOf('webhook endpoint'))
    .option('--event <event_id>', 'only deliveries of this event', idOf('event'))
    .option('--transfer <transfer_id>', "only deliveries of this transfer's events", idOf('transfer'))
    .option('--since <time>', 'only deliveries created since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--limit <n>', 'at most this many deliveries', parseLimit, 50)
    .option('--cursor <delivery_id>', 'the last delivery of the previous page', idOf('delivery'))
    .does(list);

  ofOne('show')
    .description(`show a delivery with its latest ${SHOWN_ATTEMPTS} attempts and its planned ones`)
    .does(show);

  ofOne('retry')
    .option('--wait', 'wait up to 60 s for the attempt; exits with 1 if it fails')
    .description('make one more attempt now; a failure changes neither the status nor the planned attempts')
    .does(retry);

  ofOne('explain')
    .requiredOption(
      '--attempt <n>',
      'the number of the attempt',
      wholeNumber(1, 999_999_999, 'Give the number of an attempt, such as 1.'),
    )
    .requiredOption('--v0 <digest>', 'the digest that the receiver computed', parseDigest)
    .description('find out why a receiver computed a different signature')
    .does(explain);

  deliveries
    .command('lost')
    .description('list events that Temporal has and the database does not: they were lost when Postgres was restored')
    .requiredOption(
      '--since <time>',
      'the time that Postgres was restored to: 2h (ago), or 2026-11-21T10:00:00Z',
      parseSince,
    )
    .does(lost);
}

/** A longer text is no digest of any kind. */
const MAX_DIGEST = 512;

/** A digest that a receiver computed: any text that is no longer than the API's route accepts. */
function parseDigest(text: string): string {
  if (text.length > MAX_DIGEST) throw new InvalidArgumentError(`Give at most ${MAX_DIGEST} characters.`);
  return text;
}

interface ListOptions {
  status?: DeliveryStatus;
  client?: string;
  endpoint?: string;
  event?: string;
  transfer?: string;
  since?: number;
  limit: number;
  cursor?: string;
}

const list = onDatabase(async ({ database }, options: ListOptions) => {
  const { status, client, endpoint: endpointId, event: eventId, transfer: transferId, limit, cursor: before } = options;
  // A mistyped id is an error; an empty list means that the client has no such deliveries.
  if (client !== undefined) await showClient(database, client);
  const createdAfter = options.since === undefined ? undefined : options.since - 1;
  const filters = { status, endpointId, eventId, transferId, createdAfter, before, take: limit + 1 };
  const { shown, note } = pageOf(await listDeliveries(database, client ?? null, filters), limit);
  return {
    json: shown.map((delivery) => ({ ...presentDelivery(delivery), client_id: delivery.clientId })),
    text: deliveryTable(shown),
    note,
  };
});

const show = onDatabase(async ({ database }, id: string) => {
  const delivery = await getDeliveryWithAttempts(database, null, id);
  const json = { ...presentDeliveryWithAttempts(delivery), client_id: delivery.clientId };
  return { json, text: deliveryDetails(delivery) };
});

const explain = onDatabase(async (context, deliveryId: string, options: { attempt: number; v0: string }) => {
  const { attempt: number, v0 } = options;
  const masterKeys = masterKeysOf(context.environment);
  const explanation = await explainAttempt(context.database, masterKeys, null, { deliveryId, number }, v0);
  const detail = DIGEST_EXPLANATIONS[explanation];
  return { json: { explanation, detail }, text: `${explanation}: ${detail}` };
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
  if (!wait) return { json: { id, retried: true }, text: `delivery ${id} is retried now` };
  const attempt = await nextAttempt(database, id, made);
  const outcome = `attempt ${attempt.number}: ${outcomeOf(attempt)} in ${attempt.durationMs} ms`;
  return {
    json: { id, retried: true, attempt: presentAttempt(attempt) },
    text: attempt.error === null ? `delivered, ${outcome}` : `not delivered, ${outcome}`,
    failure: attempt.error === null ? undefined : `the attempt failed: ${outcomeOf(attempt)}`,
  };
});

/** Longer than an attempt takes and waits on a worker that is not overloaded, ms. */
const LONGEST_WAIT = 60_000;

/** Waits for the first attempt after the first `made`. @throws Error of one line */
async function nextAttempt(db: Handle, id: string, made: number): Promise<Attempt> {
  report('waiting for the attempt');
  return waitFor(LONGEST_WAIT, `no attempt ended within ${LONGEST_WAIT / 1_000} s`, async () => {
    const { attemptCount } = await db.prisma.delivery.findUniqueOrThrow({ where: { id } });
    const [attempt] = attemptCount > made ? await listAttempts(db, id, { before: made + 2, take: 1 }) : [];
    return attempt;
  });
}

/** `deliveries lost`. Only this command needs Temporal's SDK. */
const lost = onDatabase(async ({ database, environment }, { since }: { since: number }) => {
  await requireTemporalStarted();
  const { findLostEvents } = await import('../../delivery/lost-events.js');
  const found = await findLostEvents(database, environment, since);
  const rows = found.map((event) => ({ ...event, started_at: new Date(event.started_at) }));
  return { json: found, text: { rows, none: 'no lost events' } };
});

/** Characters of a response body that are shown; `--json` has the whole stored body. */
const BODY_SHOWN = 120;

function deliveryTable(deliveries: readonly DeliveryRecord[]): Table {
  return {
    rows: deliveries.map((delivery) => ({
      delivery: delivery.id,
      transfer: presentDelivery(delivery).transfer_status,
      status: delivery.status,
      attempts: delivery.attemptCount,
      last: delivery.lastAttempt && outcomeOf(delivery.lastAttempt),
      receiver: new URL(delivery.endpoint.url).host,
      'next attempt': delivery.nextAttemptAt,
      reason: delivery.reason,
      created: delivery.createdAt,
    })),
    wraps: ['receiver'],
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
      rows: delivery.attempts.map((attempt) => ({
        attempt: attempt.number,
        trigger: attempt.trigger,
        started: attempt.startedAt,
        response: outcomeOf(attempt),
        took: `${attempt.durationMs} ms`,
        detail: attempt.detail,
        body: shortened(attempt.responseBody),
      })),
      wraps: ['detail', 'body'],
      none: 'no attempts yet',
    },
    {
      rows: delivery.planned.map(({ number, at }) => ({ planned: number, 'at, if each attempt fails at once': at })),
      none: 'no planned attempts',
    },
  ];
}

function shortened(body: string | null): string | null {
  return body !== null && body.length > BODY_SHOWN ? `${body.slice(0, BODY_SHOWN)}…` : body;
}
