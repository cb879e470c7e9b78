import { LRUCache } from 'lru-cache';
import { Agent } from 'undici';
import type { AttemptError } from '../../attempts.js';
import type { Secret } from '../../secret.js';
import type { AddressGuard } from './address-guard.js';
import { createConnector } from './connector.js';
import { exchange } from './exchange.js';
import { createResolver, type ResolverOptions } from './resolver.js';
import { MAX_HEAD_BYTES } from './response-meter.js';
import { signatureHeader } from './signature.js';

/** One attempt to be made. */
export interface Outgoing {
  url: string;
  /** The event's bytes, as text: sent and signed as they are. */
  body: string;
  secret: Secret;
  /** Whose receiver it is. Connections and name look-ups are bounded for each client, and shared with no other. */
  clientId: string;
  /** Gives the attempt up: `send` rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** What came of an attempt. It succeeded (2xx) exactly where `error` is null. */
export interface SendOutcome {
  /** The timestamp that was signed, as sent. */
  t: string;
  startedAt: Date;
  /** From the start to the answer's head, or to the failure; whole ms. */
  durationMs: number;
  responseStatus: number | null;
  /** The first 4 KiB as UTF-8 with replacement, without U+0000; null if none came. */
  responseBody: string | null;
  error: AttemptError | null;
}

export interface Sender {
  /** Makes one POST. Never rejects for a fault of the receiver; only for one of our own, or when its signal aborts. */
  send(outgoing: Outgoing): Promise<SendOutcome>;
  /** Takes no more (`send` rejects); resolves when what is under way has ended, at most 16 s later. */
  close(): Promise<void>;
}

export interface SendLimits {
  /** Look-up, TCP and TLS together, ms. */
  connectMs: number;
  /** From the start to the answer's head, ms. */
  answerMs: number;
  /** For reading the body after the head, ms. */
  bodyMs: number;
}

export interface SenderOptions {
  guard: AddressGuard;
  resolver?: ResolverOptions;
  /** Issuers trusted instead of Node's own (which `NODE_EXTRA_CA_CERTS` adds to), PEM. */
  caCertificates?: string;
  /** The contract's by default: 5 s, 15 s and 1 s. */
  limits?: Partial<SendLimits>;
}

/** A backstop above what the callers let through at once; what waits for a connection here uses up its 15 s. */
const CONNECTIONS_PER_RECEIVER = 100;
/** Idle connections end before the 5 s after which common servers close them, so that a POST seldom meets a closing one. */
const IDLE_MS = 4_000;
/** So that a receiver that moves by DNS is followed, however busy the connection. */
const CONNECTION_LIFE_MS = 60_000;
const CLIENTS_REMEMBERED = 1_000;

/** How signed deliveries leave (contract, Delivery on the wire): HTTP/1.1 with kept connections, through the guard. */
export function createSender({ guard, resolver: resolverOptions, caCertificates, limits }: SenderOptions): Sender {
  const { connectMs, answerMs, bodyMs } = { connectMs: 5_000, answerMs: 15_000, bodyMs: 1_000, ...limits };
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
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      clientTtl: CONNECTION_LIFE_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
    });
    agents.set(clientId, agent);
    return agent;
  }

  /** What the agent has under way goes on to its end. */
  function retire(agent: Agent): void {
    const drained: Promise<unknown> = agent.close().finally(() => draining.delete(drained));
    draining.add(drained);
  }

  return {
    async send({ url, body, secret, clientId, signal }) {
      if (closed) throw new Error('the sender is closed');
      const { origin, pathname, search } = new URL(url);
      const bytes = Buffer.from(body);
      const startedAt = new Date();
      const t = startedAt.toISOString();
      const headers = [
        ...['Content-Type', 'application/json'],
        ...['User-Agent', 'Service-Webhooks/1.0'],
        ...['Service-Signature', signatureHeader({ secret, t, body: bytes })],
      ];
      const answer = await exchange(
        agentOf(clientId),
        { origin, path: pathname + search, method: 'POST', headers, body: bytes },
        { answerMs, bodyMs },
        signal,
      );
      return {
        t,
        startedAt,
        durationMs: Math.round(answer.durationMs),
        responseStatus: answer.status,
        responseBody: answer.body,
        error: answer.error,
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
