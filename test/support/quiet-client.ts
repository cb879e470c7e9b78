import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller, must } from './caller.js';
import { readDelivered } from './delivered.js';
import { makeTransfers } from './load.js';
import { type RawReceiver, startRawReceiver } from './raw-receiver.js';
import { SECRET } from './transfers.js';
import { waitFor } from './wait-for.js';

/**
 * Delays of each delivery, ms: from the API's response to the first arrival, and from a failed first attempt to the
 * immediate retry.
 */
export interface Delays {
  first: number[];
  retry: number[];
}

/**
 * A client with a steady trickle of events and two receivers: the first accepts each event at once, the second rejects
 * each event once.
 */
export class QuietClient {
  readonly #arrivals = new Map<string, number[]>();

  private constructor(
    private readonly call: Caller,
    private readonly receivers: RawReceiver[],
  ) {}

  static async start(call: Caller): Promise<QuietClient> {
    const receivers: RawReceiver[] = [];
    const quiet = new QuietClient(call, receivers);
    for (const refuses of [false, true]) {
      const receiver = await startRawReceiver((socket, number) => {
        const { transferId } = readDelivered(receivers[Number(refuses)]?.requests[number - 1] ?? '', SECRET);
        const times = quiet.#arrivals.get(`${transferId} ${refuses}`) ?? [];
        quiet.#arrivals.set(`${transferId} ${refuses}`, [...times, performance.now()]);
        socket.write(`HTTP/1.1 ${refuses && times.length === 0 ? 503 : 204} x\r\nContent-Length: 0\r\n\r\n`);
      });
      receivers.push(receiver);
      await must(call('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
    }
    return quiet;
  }

  /** Makes `count` status changes, one every `interval` ms. */
  async trickle(count: number, interval: number): Promise<Delays> {
    const ids = await makeTransfers(this.call, count);
    const answered = new Map<string, number>();
    for (const id of ids) {
      const began = performance.now();
      await must(this.call('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
      answered.set(id, performance.now());
      await sleep(Math.max(0, interval - (performance.now() - began)));
    }
    const timesOf = (id: string, refuses: boolean) => this.#arrivals.get(`${id} ${refuses}`) ?? [];
    await waitFor(
      'all deliveries and retries of the quiet client',
      () => ids.every((id) => timesOf(id, false).length >= 1 && timesOf(id, true).length >= 2),
      60_000,
    );
    const delay = (from = Number.NaN, to = Number.NaN) => Math.max(0, to - from);
    return {
      first: ids.flatMap((id) => [true, false].map((refuses) => delay(answered.get(id), timesOf(id, refuses)[0]))),
      retry: ids.map((id) => delay(...(timesOf(id, true) as [number, number]))),
    };
  }

  async close(): Promise<void> {
    for (const receiver of this.receivers) await receiver.close();
  }
}

/** Prints the delays of a quiet client. */
export function reportDelays(name: string, { first, retry }: Delays): void {
  const of = (values: number[]) => [0.5, 0.99, 1].map((share) => percentile(values, share)).join(' / ');
  process.stderr.write(`quiet client, ${name}: p50 / p99 / max ms: first ${of(first)}, retry ${of(retry)}\n`);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN);
}
