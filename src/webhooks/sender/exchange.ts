import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { AttemptError } from '../../attempts.js';
import { isOwnFault, reasonOfExchange } from './attempt-error.js';
import { type KeptHeaders, keepHeaders } from './kept-headers.js';

/** A receiver's response, or the error that replaced it. */
export interface ReceiverResponse {
  status: number | null;
  /** Null if no head arrived. */
  headers: KeptHeaders | null;
  body: string | null;
  error: AttemptError | null;
  /** From the start to the response's head, or to the failure; ms. */
  durationMs: number;
}

export interface ExchangeLimits {
  /** From the start, connecting included, to the response's head; ms. */
  responseMs: number;
  /** From the head to the end of the body; ms. */
  bodyMs: number;
}

const KEPT_BYTES = 4 * 1024;

/**
 * Makes one request and reads its response. A 2xx is a success even if its body fails: the body is read only for the
 * record, up to a time limit. undici's own time limits restart with each chunk, so that a receiver that sends slowly
 * never reaches them. The two limits here do not restart. The connection limits the size of the response
 * (limit-responses.ts).
 * @throws a fault of this service, or the reason of the signal that aborted
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limits: ExchangeLimits,
  signal: AbortSignal | undefined,
): Promise<ReceiverResponse> {
  return new Promise((resolve, reject) => {
    const handler = new Exchange(limits, signal, resolve, reject);
    if (!signal?.aborted) dispatcher.dispatch({ ...request, headersTimeout: 0, bodyTimeout: 0 }, handler);
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #head: { status: number; headers: KeptHeaders; durationMs: number } | undefined;
  #kept: Buffer[] = [];
  #keptBytes = 0;

  constructor(
    readonly limits: ExchangeLimits,
    readonly signal: AbortSignal | undefined,
    readonly resolve: (response: ReceiverResponse) => void,
    readonly reject: (reason: unknown) => void,
  ) {
    this.#timer = setTimeout(() => this.#cut('timeout'), limits.responseMs);
    if (signal?.aborted) this.#giveUp();
    else signal?.addEventListener('abort', this.#giveUp, { once: true });
  }

  /** undici is about to write the request, which may have been aborted while it waited for a connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error('given up'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#settled) return;
    this.#head = { status, headers: keepHeaders(headers), durationMs: performance.now() - this.#startedAt };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#cut(), this.limits.bodyMs);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#keptBytes === KEPT_BYTES) return;
    const kept = Buffer.from(chunk.subarray(0, KEPT_BYTES - this.#keptBytes));
    this.#kept.push(kept);
    this.#keptBytes += kept.length;
  }

  onResponseEnd(): void {
    this.#settle();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#head === undefined && isOwnFault(error)) this.#fail(error);
    else this.#settle(reasonOfExchange(error));
  }

  /** Ends the exchange and its connection with it. */
  #cut(error?: AttemptError): void {
    this.#settle(error);
    this.#controller?.abort(new Error('cut'));
  }

  readonly #giveUp = (): void => {
    this.#fail(this.signal?.reason);
    this.#controller?.abort(new Error('given up'));
  };

  /** Once the head has arrived, its status decides. `error` is the reason for a missing head. */
  #settle(error: AttemptError = 'reset'): void {
    if (!this.#end()) return;
    const head = this.#head;
    this.resolve({
      status: head?.status ?? null,
      headers: head?.headers ?? null,
      body: head && this.#keptBytes > 0 ? textOf(this.#kept) : null,
      error: head ? errorOfStatus(head.status) : error,
      durationMs: head?.durationMs ?? performance.now() - this.#startedAt,
    });
  }

  #fail(reason: unknown): void {
    if (this.#end()) this.reject(reason);
  }

  #end(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.signal?.removeEventListener('abort', this.#giveUp);
    return true;
  }
}

function errorOfStatus(status: number): AttemptError | null {
  if (status < 300) return null;
  return status < 400 ? 'redirect' : 'status';
}

/** Decodes UTF-8 and removes U+0000, which Postgres does not accept in text. */
function textOf(chunks: Buffer[]): string {
  return Buffer.concat(chunks).toString('utf8').replaceAll('\0', '');
}
