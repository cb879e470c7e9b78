import { TransferServiceClient } from '../client.js';
import { sleep, TIME_IS_UP, withTimeLimit } from '../time-limit.js';
import type { Delivery, Event, TransferStatus } from '../types.js';
import { type Command, count, type Given, UsageError, type Values } from './command.js';
import { CREDENTIALS, CREDENTIALS_HELP, readCredentials } from './credentials.js';
import { harmless, harmlessJson } from './harmless.js';

const POLL = 1_000;
const OUTCOMES = 'SANDBOX-COMPLETE, SANDBOX-CANCEL, SANDBOX-FAIL-CODE or SANDBOX-RETURN-CODE';
const OUTCOME = /^SANDBOX-(?:COMPLETE|CANCEL|(?:FAIL|RETURN)-[A-Z_]+)$/;
const FINAL: readonly TransferStatus[] = ['CANCELLED', 'FAILED', 'RETURNED'];

export const trigger: Command = {
  summary: 'create a simulated transfer, and wait for its webhooks',
  usage: '[--outcome ACCOUNT] [options]',
  help: `Exits with 0 if every delivery of the transfer's events has succeeded, and with 1 if one has not.

  --outcome ACCOUNT    SANDBOX-COMPLETE (default), SANDBOX-CANCEL, SANDBOX-FAIL-CODE or SANDBOX-RETURN-CODE,
                       such as SANDBOX-FAIL-INSUFFICIENT_FUNDS
  --timeout SECONDS    how long to wait, 1 to 600 (60)
  --json               print one JSON document
${CREDENTIALS_HELP}`,
  options: {
    ...CREDENTIALS,
    outcome: { type: 'string' },
    timeout: { type: 'string' },
    json: { type: 'boolean' },
  },
  async run(given) {
    const { values, signal, print } = given;
    const seconds = count(values, 'timeout', { byDefault: 60, most: 600 });
    const account = outcomeOf(values);
    const client = new TransferServiceClient(await readCredentials(given));
    const transfer = await client.transfers.create(
      {
        amount: { value: 1_250, currency: 'EUR' },
        destination: { name: 'Sandbox', account },
        reference: 'transfer-service-client trigger',
      },
      { signal },
    );
    if (!values.json) print(harmless(`transfer ${transfer.id} to ${account}`));
    const watch = new Watch(client, transfer.id, statusAfter(account), given);
    try {
      await withTimeLimit(seconds * 1_000, signal, (limited) => watch.untilDelivered(limited));
    } catch (error) {
      if (error !== TIME_IS_UP) throw error;
      given.warn(`the webhooks of the transfer are not complete after ${seconds} s`);
    }
    const succeeded = watch.hasSucceeded();
    if (values.json) print(harmlessJson({ transfer_id: transfer.id, succeeded, events: watch.report() }));
    return succeeded ? 0 : 1;
  },
};

/** A transfer to any other account waits for manual changes. @throws UsageError */
function outcomeOf({ outcome = 'SANDBOX-COMPLETE' }: Values): string {
  if (typeof outcome === 'string' && OUTCOME.test(outcome)) return outcome;
  throw new UsageError(`--outcome must be ${OUTCOMES}, such as SANDBOX-FAIL-INSUFFICIENT_FUNDS`);
}

/** The status at which a transfer to this account stays. */
function statusAfter(account: string): TransferStatus {
  if (account.startsWith('SANDBOX-FAIL-')) return 'FAILED';
  if (account.startsWith('SANDBOX-RETURN-')) return 'RETURNED';
  return account === 'SANDBOX-CANCEL' ? 'CANCELLED' : 'COMPLETED';
}

/** The events of one transfer with their deliveries. A delivery is reported after its first attempt. */
class Watch {
  readonly #events = new Map<string, { event: Event; deliveries: Delivery[] }>();
  readonly #reported = new Set<string>();
  #complete = false;

  constructor(
    readonly client: TransferServiceClient,
    readonly transferId: string,
    readonly last: TransferStatus,
    readonly given: Given,
  ) {}

  async untilDelivered(signal: AbortSignal): Promise<void> {
    while (!this.#complete) {
      const { status, status_history } = await this.client.transfers.get(this.transferId, { signal });
      await this.#read(signal);
      const isAtRest = status === this.last || FINAL.includes(status);
      // Every change of status but the creation makes one event.
      const hasAll = this.#events.size === status_history.length - 1;
      this.#complete = isAtRest && hasAll && this.#deliveries().every(wasAttempted);
      if (!this.#complete) await sleep(POLL, signal);
    }
  }

  hasSucceeded(): boolean {
    return this.#complete && this.#deliveries().every(({ status }) => status === 'succeeded');
  }

  report() {
    return [...this.#events.values()].map(({ event: { id, data }, deliveries }) => ({
      id,
      status: data.status,
      deliveries: deliveries.map(({ id, url, status, last_attempt }) => ({
        ...{ id, url, status, response_status: last_attempt?.response_status ?? null },
        error: last_attempt?.error ?? null,
      })),
    }));
  }

  async #read(signal: AbortSignal): Promise<void> {
    const events: Event[] = [];
    for await (const event of this.client.events.list({ transfer_id: this.transferId }, { signal })) events.push(event);
    for (const event of events.reverse()) {
      const deliveries: Delivery[] = [];
      for await (const delivery of this.client.events.listDeliveries(event.id, {}, { signal })) {
        deliveries.push(delivery);
      }
      this.#events.set(event.id, { event, deliveries });
      this.#show(event, deliveries);
    }
  }

  #show({ id, data }: Event, deliveries: readonly Delivery[]): void {
    const line = (key: string, text: string) => {
      if (this.#reported.has(key) || this.given.values.json) return;
      this.#reported.add(key);
      this.given.print(harmless(`${data.status}  event ${id}  ${text}`));
    };
    if (deliveries.length === 0) line(id, 'has no delivery: no endpoint is registered and enabled');
    for (const { id: key, url, status, last_attempt: attempt } of deliveries.filter(wasAttempted)) {
      const result = attempt ? `${attempt.response_status ?? attempt.error} in ${attempt.duration_ms} ms` : status;
      line(key, `→ ${url}  ${result}${attempt?.error ? `  (${attempt.error})` : ''}`);
    }
  }

  #deliveries(): Delivery[] {
    return [...this.#events.values()].flatMap(({ deliveries }) => deliveries);
  }
}

function wasAttempted({ status, last_attempt }: Delivery): boolean {
  return status !== 'pending' || last_attempt !== null;
}
