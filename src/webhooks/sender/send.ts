import { LRUCache } from 'lru-cache';
import { Agent } from 'undici';
import type { AttemptError } from '../../attempts.js';
import type { Secret } from '../../secret.js';
import type { AddressGuard } from './address-guard.js';
import { createConnector } from './connector.js';
import { deliveryHeaders } from './delivery-headers.js';
import { exchange } from './exchange.js';
import type { KeptHeaders } from './kept-headers.js';
import { createResolver, type ResolverOptions } from './resolver.js';
import { MAX_HEAD_BYTES } from './response-meter.js';
import { signatureHeader } from './signature.js';

/** One attempt to be made. */
export type Outgoing = Signing & {
  url: string;
  /** The event's JSON text. It is sent and signed unchanged. */
  body: string;
  /** The client that owns the receiver. Connections and name look-ups are limited for each client, and never shared. */
  clientId: string;
  /** Aborts the attempt: `send` rejects with the signal's reason. */
  signal?: AbortSignal;
};

/** The secret signs the body at the time of sending. A signature is sent as it is; null: the header is missing. */
export type Signing = { secret: Secret } | { signature: string | null };

/** The outcome of an attempt. The attempt succeeded (2xx) if and only if `error` is null. */
export interface SendOutcome {
  /** The timestamp that was signed, as sent. */
  t: string;
  startedAt: Date;
  /** From the start to the response's head, or to the failure; whole ms. */
  durationMs: number;
  responseStatus: number | null;
  /** Null if no head arrived. */
  responseHeaders: KeptHeaders | null;
  /** The first 4 KiB as UTF-8 with replacement characters, without U+0000; null if no byte arrived. */
  responseBody: string | null;
  error: AttemptError | null;
}

export interface Sender {
  /**
   * Makes one POST. Rejects only for a fault of this service, or when the signal aborts; never for a receiver's fault.
   */
  send(outgoing: Outgoing): Promise<SendOutcome>;
  /** Refuses new POSTs (`send` rejects), and resolves when the running ones have ended, at most 16 s later. */
  close(): Promise<void>;
}

export interface SendLimits {
  /** Look-up, TCP and TLS together, ms. */
  connectMs: number;
  /** From the start to the response's head, ms. */
  responseMs: number;
  /** From the head to the end of the body, ms. */
  bodyMs: number;
}

export interface SenderOptions {
  guard: AddressGuard;
  resolver?: ResolverOptions;
  /** Issuers trusted instead of Node's default ones (to which `NODE_EXTRA_CA_CERTS` adds), PEM. */
  caCertificates?: string;
  /** The limits of the contract by default: 5 s, 15 s and 1 s. */
  limits?: Partial<SendLimits>;
}

/** A backstop above the callers' own limits. A request that waits here for a connection uses up its 15 s. */
const CONNECTIONS_PER_RECEIVER = 100;
/**
 * Shorter than the 5 s after which common servers close idle connections, so that a POST seldom meets a closing
 * connection.
 */
const IDLE_MS = 4_000;
/**
 * Limits the age of a connection, so that a receiver's new DNS address is used even if the connection is always busy.
 */
const CONNECTION_LIFE_MS = 60_000;
const CLIENTS_REMEMBERED = 1_000;

/**
 * Creates the sender of signed deliveries (contract, Delivery on the wire): HTTP/1.1, kept connections, the address
 * guard.
 */
export function createSender({ guard, resolver: resolverOptions, caCertificates, limits }: SenderOptions): Sender {
  const { connectMs, responseMs, bodyMs } = { connectMs: 5_000, responseMs: 15_000, bodyMs: 1_000, ...limits };
  const resolver = createResolver(resolverOptions);
  const draining = new Set<Promise<unknown>>();
  const agents = new LRUCache<string, Agent>({ max: CLIENTS_REMEMBERED, dispose: retire });
  let closed = false;

  function agentOf(clientId: string): Agent {
    const known = agents.get(clientId);
    if (known) return known;
    const agent = new Agent({
      connect: createConnector({ guard, resolve: resolver.forClient(), limitMs: connectMs, caCertificates }),
      connections: CONNECTIONS_PER_RECEIVER,
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
    async send(outgoing) {
      const { url, body, clientId, signal } = outgoing;
      if (closed) throw new Error('the sender is closed');
      const { origin, pathname, search } = new URL(url);
      const bytes = Buffer.from(body);
      const startedAt = new Date();
      const t = startedAt.toISOString();
      const signature = 'secret' in outgoing ? signatureHeader({ ...outgoing, t, body: bytes }) : outgoing.signature;
      const response = await exchange(
        agentOf(clientId),
        { origin, path: pathname + search, method: 'POST', headers: deliveryHeaders(signature), body: bytes },
        { responseMs, bodyMs },
        signal,
      );
      return {
        t,
        startedAt,
        durationMs: Math.round(response.durationMs),
        responseStatus: response.status,
        responseHeaders: response.headers,
        responseBody: response.body,
        error: response.error,
      };
    },
    async close() {
      closed = true;
      agents.clear();
      await Promise.all(draining);
      resolver.close();
    },
  };
}
