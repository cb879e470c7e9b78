import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher } from 'undici';
import { standardHeaders } from '../../../clients/typescript/src/standard.js';
import { requestTarget } from '../../platform/receiver-url.js';
import type { Secret } from '../../platform/secret.js';
import type { AttemptError } from '../../platform/vocabulary.js';
import type { AddressGuard } from './address-guard.js';
import { detailOf, isOwnFault, NotSent, reasonOfExchange } from './attempt-error.js';
import { createConnector } from './connector.js';
import {
  deliveryHeaders,
  type KeptHeaders,
  keepHeaders,
  type OwnHeader,
  signatureHeader,
  withoutEchoes,
} from './headers.js';
import { createResolver, type ResolverOptions } from './resolver.js';
import { MAX_BODY_BYTES, MAX_HEAD_BYTES, NOTE_STATUS, type Note } from './response-meter.js';
import { type Described, KEPT_BYTES, type ResponseText, responseText } from './response-text.js';

/** One attempt to be made. */
export type Outgoing = Signing & {
  url: string;
  /** The event's JSON text. It is sent and signed unchanged. */
  body: string;
  /** The client that owns the receiver. Connections are its own, and so is the number of name look-ups at once. */
  clientId: string;
  /** What the endpoint's owner adds. */
  headers?: readonly OwnHeader[];
};

/**
 * The secret signs the body at the time of sending, also in the standard's form for an event that is named. A signature
 * is sent as it is; null: the header is missing.
 */
export type Signing =
  | { secret: Secret; standardId?: string | undefined }
  | { signature: string | null; standard?: Record<string, string> | undefined };

/** The outcome of an attempt. The attempt succeeded (2xx) if and only if `error` is null. */
export interface SendOutcome {
  /** The timestamp that was signed, as sent. */
  t: string;
  startedAt: Date;
  /** From the start to the response's status line, or to the failure; whole ms. */
  durationMs: number;
  responseStatus: number | null;
  /** Null if no head arrived, or none that can be read. */
  responseHeaders: KeptHeaders | null;
  /** The first 4 KiB as text (`responseText`); null if no byte arrived. */
  responseBody: string | null;
  error: AttemptError | null;
  /** What was odd or wrong, in one sentence; null: nothing. It contains no byte of the response. */
  detail: string | null;
}

export type Sender = ReturnType<typeof createSender>;

export interface SendLimits {
  /** Look-up, TCP and TLS together, ms. */
  connectMs: number;
  /** From the start to the response's status line, and to the end of its head, ms. */
  responseMs: number;
  /** From the head to the end of the body, ms. */
  bodyMs: number;
}

/** Clients whose connections a worker keeps open for the next attempt: 24 KB for a connection. */
const CLIENT_POOLS = 10_000;

export interface SenderOptions {
  guard: AddressGuard;
  resolver?: ResolverOptions;
  /** Issuers trusted instead of Node's default ones (to which `NODE_EXTRA_CA_CERTS` adds), PEM. */
  caCertificates?: string;
  /** By default: 5 s, 15 s and 1 s. */
  limits?: Partial<SendLimits>;
}

/**
 * Shorter than the 5 s after which common servers close idle connections, so that a POST seldom meets a closing
 * connection.
 */
const IDLE_MS = 4_000;
/**
 * Limits the age of a connection, so that a receiver's new DNS address is used even if the connection is always busy.
 */
const CONNECTION_LIFE_MS = 60_000;

/** Creates the sender of signed deliveries: HTTP/1.1, kept connections, the address guard. */
export function createSender({ guard, resolver: resolverOptions, caCertificates, limits }: SenderOptions) {
  const { connectMs, responseMs, bodyMs } = { connectMs: 5_000, responseMs: 15_000, bodyMs: 1_000, ...limits };
  const resolver = createResolver(resolverOptions);
  const draining = new Set<Promise<unknown>>();
  const agents = new LRUCache<string, Agent>({ max: CLIENT_POOLS, dispose: retire });
  let closed = false;

  function agentOf(clientId: string): Agent {
    const known = agents.get(clientId);
    if (known) return known;
    const agent = new Agent({
      connect: createConnector({ guard, resolve: resolver.forClient(), limitMs: connectMs, caCertificates }),
      // The callers limit the attempts. A request that waited here for a connection would use up its 15 s.
      connections: null,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      clientTtl: CONNECTION_LIFE_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
    });
    agents.set(clientId, agent);
    return agent;
  }

  /** Closes an agent without aborting its running requests. */
  function retire(agent: Agent): void {
    const drained: Promise<unknown> = agent.close().finally(() => draining.delete(drained));
    draining.add(drained);
  }

  return {
    /**
     * Makes one POST. Rejects only for a fault of this service, never for a receiver's fault: with NotSent if no byte
     * was sent.
     */
    async send(outgoing: Outgoing): Promise<SendOutcome> {
      const { url, body, clientId } = outgoing;
      if (closed) throw new Error('the sender is closed');
      const bytes = Buffer.from(body);
      const startedAt = new Date();
      const t = startedAt.toISOString();
      const request = { ...requestTarget(url), headers: signedHeaders(outgoing, t, bytes), body: bytes };
      const response = await new Promise<Response>((resolve, reject) => {
        const handler = new Exchange(responseMs, bodyMs, resolve, reject);
        agentOf(clientId).dispatch({ ...request, method: 'POST', headersTimeout: 0, bodyTimeout: 0 }, handler);
      });
      return { t, startedAt, ...(outgoing.headers?.length ? withoutValues(response, outgoing.headers) : response) };
    },
    /** Refuses new POSTs (`send` rejects), and resolves when the running ones have ended, at most 16 s later. */
    async close(): Promise<void> {
      closed = true;
      agents.clear();
      await Promise.all(draining);
      resolver.close();
    },
  };
}

function signedHeaders(outgoing: Outgoing, t: string, body: Uint8Array): Record<string, string> {
  const { headers } = outgoing;
  if (!('secret' in outgoing)) return deliveryHeaders(outgoing.signature, outgoing.standard, headers);
  const { secret, standardId } = outgoing;
  const signable = { secret, t, body };
  const standard =
    standardId === undefined ? undefined : standardHeaders({ ...signable, secret: secret.reveal(), id: standardId });
  return deliveryHeaders(signatureHeader(signable), standard, headers);
}

function withoutValues(response: Response, own: readonly OwnHeader[]): Response {
  const { responseHeaders, responseBody } = response;
  const shown = (text: string) => withoutEchoes(text, own);
  const headers = responseHeaders && Object.entries(responseHeaders).map(([name, value]) => [name, shown(value)]);
  return {
    ...response,
    responseHeaders: headers && Object.fromEntries(headers),
    responseBody: responseBody && shown(responseBody),
  };
}

/** A receiver's response, or the error that replaced it. */
type Response = Omit<SendOutcome, 't' | 'startedAt'>;

const UNREADABLE = 'The body has a Content-Encoding that is unknown, or that does not fit its bytes.';
const INCOMPLETE_HEAD = 'The head of the response was incomplete when the connection closed or the time ran out.';

/**
 * Reads the response to one request. The status line decides as soon as it has arrived, whatever happens after it: the
 * connection notes it before undici parses the head (response-meter.ts). Headers and body are read only for the record,
 * up to a time limit. undici's own time limits restart with each chunk, so that a receiver that sends slowly never
 * reaches them. The two limits here do not restart. The connection limits the size of the response.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout;
  #lastTurn: NodeJS.Immediate | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #line: { status: number; durationMs: number } | undefined;
  #headers: KeptHeaders | null = null;
  #described: Described = { contentType: undefined, contentEncoding: undefined };
  #kept: Buffer[] = [];
  #keptBytes = 0;

  constructor(
    responseMs: number,
    readonly bodyMs: number,
    readonly resolve: (response: Response) => void,
    /** Called with a fault of this service. */
    readonly reject: (reason: unknown) => void,
  ) {
    // A status line that is there counts, even if this process was too busy to read it: an event loop that is late runs
    // its timers first.
    this.#timer = setTimeout(() => {
      this.#lastTurn = setImmediate(() => this.#cut('timeout'));
    }, responseMs);
  }

  /** undici is about to write the request, whose time may have ended while it waited for a connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error('cut'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#settled) return;
    if (status === NOTE_STATUS) {
      this.#begin(Number((headers as Note).status));
    } else {
      this.#begin(status);
      this.#headers = keepHeaders(headers);
      this.#described = { contentType: headers['content-type'], contentEncoding: headers['content-encoding'] };
      clearTimeout(this.#timer);
      clearImmediate(this.#lastTurn);
      this.#timer = setTimeout(() => this.#cut(), this.bodyMs);
    }
  }

  #begin(status: number): void {
    this.#line ??= { status, durationMs: performance.now() - this.#startedAt };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // Decoders may need more bytes than they make, up to the limit of a response.
    const limit = this.#described.contentEncoding === undefined ? KEPT_BYTES : MAX_BODY_BYTES;
    if (this.#keptBytes === limit) return;
    const kept = Buffer.from(chunk.subarray(0, limit - this.#keptBytes));
    this.#kept.push(kept);
    this.#keptBytes += kept.length;
  }

  onResponseEnd(): void {
    this.#settle();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#line === undefined && isOwnFault(error)) {
      if (this.#end()) this.reject(this.#controller ? error : new NotSent(error));
    } else this.#settle(reasonOfExchange(error), detailOf(error));
  }

  /** Ends the exchange and its connection with it. */
  #cut(error?: AttemptError): void {
    this.#settle(error);
    this.#controller?.abort(new Error('cut'));
  }

  /**
   * Once the status line has arrived, its status decides.
   * @param error why there is no status line
   * @param detail why there is no complete head, in one sentence
   */
  #settle(error: AttemptError = 'reset', detail: string | null = null): void {
    if (!this.#end()) return;
    const line = this.#line;
    const response = {
      durationMs: Math.round(line?.durationMs ?? performance.now() - this.#startedAt),
      responseStatus: line?.status ?? null,
      responseHeaders: this.#headers,
      error: line ? errorOfStatus(line.status) : error,
      detail: this.#headers ? null : (detail ?? (line ? INCOMPLETE_HEAD : null)),
    };
    const withBody = ({ text, faulty }: ResponseText | { text: null; faulty: false }) =>
      this.resolve({ ...response, responseBody: text, detail: response.detail ?? (faulty ? UNREADABLE : null) });
    const body =
      this.#keptBytes === 0
        ? ({ text: null, faulty: false } as const)
        : responseText(Buffer.concat(this.#kept), this.#described);
    if (body instanceof Promise) void body.then(withBody);
    else withBody(body);
  }

  #end(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    clearTimeout(this.#timer);
    return true;
  }
}

function errorOfStatus(status: number): AttemptError | null {
  if (status < 300) return null;
  return status < 400 ? 'redirect' : 'status';
}
