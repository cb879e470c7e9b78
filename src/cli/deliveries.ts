import { type Command, InvalidArgumentError } from 'commander';
import { DeliveryStatus } from '../database/generated/enums.js';
import { presentDelivery } from '../http/presenters/delivery.js';
import { isId } from '../ids.js';
import { Refusal } from '../refusal.js';
import { type DeliveryRecord, getDeliveryForOperator, listDeliveriesForOperator } from '../webhooks/read-deliveries.js';
import { answers } from './command.js';
import { withDatabase } from './with-database.js';

const STATUSES = Object.values(DeliveryStatus);

/** `deliveries …`: what was sent, what came back, and when it is tried again. */
export function addDeliveries(program: Command): void {
  const deliveries = program.command('deliveries').description('what was sent, and when it is tried again');

  answers(
    deliveries
      .command('list')
      .description('deliveries of all clients, newest first')
      .option('--status <status>', STATUSES.join(' | '), parseStatus)
      .option('--client <client_id>', 'of one client')
      .option('--limit <n>', 'at most so many', parseLimit, 50),
    async (options: { status?: DeliveryStatus; client?: string; limit: number }) => {
      const { status, client: clientId, limit: take } = options;
      if (clientId !== undefined && !isId(clientId)) throw new Refusal('not_found', 'There is no such client.');
      const found = await withDatabase((database) => listDeliveriesForOperator(database, { status, clientId, take }));
      return { json: found.map(present), text: found.map(line).join('\n') || 'no deliveries' };
    },
  );

  answers(
    deliveries.command('show').argument('<delivery_id>').description('one delivery with all its attempts'),
    async (id: string) => {
      const delivery = await withDatabase((database) => getDeliveryForOperator(database, known(id)));
      return { json: present(delivery), text: details(delivery) };
    },
  );

  answers(
    deliveries
      .command('retry')
      .argument('<delivery_id>')
      .description('make one attempt now, whether it sleeps or has ended'),
    async (id: string) => {
      await withDatabase(async (database, environment) => {
        const { clientId } = await getDeliveryForOperator(database, known(id));
        // Loaded here: it is most of the start of a command, and only this one needs it.
        const { retryFromOutside } = await import('../outbox/retry-from-outside.js');
        await retryFromOutside(database, environment, clientId, id);
      });
      return { json: { id, retried: true }, text: `delivery ${id} is attempted now` };
    },
  );
}

function known(id: string): string {
  if (!isId(id)) throw new Refusal('not_found', 'There is no such delivery.');
  return id;
}

function parseStatus(text: string): DeliveryStatus {
  const status = STATUSES.find((one) => one === text);
  if (!status) throw new InvalidArgumentError(`Give one of ${STATUSES.join(', ')}.`);
  return status;
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw new InvalidArgumentError('Give 1 to 1000.');
  return limit;
}

function present(delivery: DeliveryRecord) {
  return { ...presentDelivery(delivery), client_id: delivery.clientId };
}

function line(delivery: DeliveryRecord): string {
  const { id, status, reason, attempt_count, next_attempt_at } = presentDelivery(delivery);
  const last = delivery.attempts.at(-1);
  const parts = [
    id,
    status.padEnd(9),
    `${attempt_count} attempts`,
    `last ${last?.responseStatus ?? last?.error ?? '–'}`,
    new URL(delivery.endpoint.url).host,
    next_attempt_at ? `next ${next_attempt_at}` : (reason ?? ''),
  ];
  return parts.join('  ').trimEnd();
}

function details(delivery: DeliveryRecord): string {
  const attempts = delivery.attempts.map((attempt) => {
    const answer = attempt.responseStatus ?? attempt.error;
    return `  ${attempt.number}  ${attempt.startedAt.toISOString()}  ${attempt.trigger}  ${answer}  ${attempt.durationMs} ms`;
  });
  return [line(delivery), `event ${delivery.eventId}, endpoint ${delivery.endpointId}`, ...attempts].join('\n');
}
