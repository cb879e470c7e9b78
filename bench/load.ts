import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './clock.js';
import { openConnection } from './http-connection.js';
import { answerQuestions } from './questions.js';

// The load generator, in its own process: one status change for each transfer, over persistent connections.

/** The routes that make an event of a transfer in CREATED, and their requests. */
export const ROUTES = {
  operator: { path: (id: string) => `/operator/transfers/${id}/status`, body: '{"status":"PROCESSING"}' },
  sandbox: { path: (id: string) => `/sandbox/transfers/${id}/status`, body: '{"status":"PROCESSING"}' },
  cancel: { path: (id: string) => `/transfers/${id}/cancel`, body: '' },
} as const;
export type Route = keyof typeof ROUTES;

export interface Load {
  /** The APIs. Connections are spread over them in turn. */
  baseUrls: readonly string[];
  /** The transfers belong to the holders of the tokens in turn. */
  tokens: readonly string[];
  transfers: string[];
  connections: number;
  /** Changes per second; 0: as fast as the responses arrive. */
  rate: number;
  /** Each change has an `Idempotency-Key`. */
  keyed?: boolean | undefined;
  /** Unset: the operator's. */
  route?: Route | undefined;
}

export interface LoadResult {
  /** Transfer id, time of the request and time of the response. */
  accepted: [string, number, number][];
  /** Number of other responses by status; 0: no response. */
  errors: Record<string, number>;
  startedAt: number;
  endedAt: number;
}

async function run(load: Load): Promise<LoadResult> {
  const { baseUrls, tokens, transfers, connections, rate, keyed = false, route = 'operator' } = load;
  const { path, body } = ROUTES[route];
  const accepted: LoadResult['accepted'] = [];
  const errors: Record<string, number> = {};
  const content = body && 'Content-Type: application/json\r\n';
  const request = (index: number, id: string, host: string) =>
    `POST ${path(id)} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${tokens[index % tokens.length]}\r\n` +
    `${keyed ? `Idempotency-Key: ${id}\r\n` : ''}${content}Content-Length: ${body.length}\r\n\r\n${body}`;
  let next = 0;
  const startedAt = now();
  const work = async (baseUrl: string): Promise<void> => {
    const { host, hostname, port } = new URL(baseUrl);
    const connection = openConnection(hostname, Number(port));
    for (let index = next++; index < transfers.length; index = next++) {
      if (rate > 0) await sleep(Math.max(0, startedAt + (index * 1_000) / rate - now()));
      const id = transfers[index] ?? '';
      const askedAt = now();
      const status = await connection.ask(request(index, id, host));
      if (status === 200) accepted.push([id, askedAt, now()]);
      else errors[status] = (errors[status] ?? 0) + 1;
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, (_, i) => work(baseUrls[i % baseUrls.length] ?? '')));
  return { accepted, errors, startedAt, endedAt: now() };
}

answerQuestions(run);
