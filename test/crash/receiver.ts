import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a receiver does with a request; a number: that status. */
export type Behaviour = number | 'hang' | 'reset' | 'garbage' | 'cut' | { slowly: number };

/** A request as the receiver saw it, its signature judged by code that is not the service's. */
export interface Arrival {
  /** Names the endpoint. */
  path: string;
  event: string;
  transfer: string;
  /** The transfer's status that the event tells. */
  status: string;
  /** The signed timestamp: no two attempts at one delivery share it. */
  t: string;
  body: string;
  rightlySigned: boolean;
  /** The status that was answered; null: nothing that is HTTP. */
  answered: number | null;
}

export interface Receiver {
  url: string;
  arrivals: Arrival[];
  close(): Promise<void>;
}

/** @param behave what to do with the n-th request (from 1) for this event at this path */
export async function startReceiver(
  secret: string,
  behave: (path: string, event: string, n: number) => Behaviour,
): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const seen = new Map<string, number>();
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const body = await read(request).catch(() => undefined);
    // The sender died in the middle: nothing has arrived.
    if (body === undefined) return;
    const arrival = judge(request, body, secret);
    arrivals.push(arrival);
    const delivery = `${arrival.path} ${arrival.event}`;
    const n = (seen.get(delivery) ?? 0) + 1;
    seen.set(delivery, n);
    arrival.answered = await answer(response, behave(arrival.path, arrival.event, n));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function judge(request: IncomingMessage, body: string, secret: string): Arrival {
  const [, t = '', v0] = /^t=([^,]+),v0=([0-9a-f]{64})$/.exec(String(request.headers['service-signature'])) ?? [];
  const { id, data } = JSON.parse(body) as { id: string; data: { id: string; status: string } };
  const rightlySigned = v0 === createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
  const told = { event: id, transfer: data.id, status: data.status };
  return { path: request.url ?? '', ...told, t, body, rightlySigned, answered: null };
}

async function answer(response: ServerResponse, behaviour: Behaviour): Promise<number | null> {
  const { socket } = response;
  if (behaviour === 'hang') return null;
  if (behaviour === 'reset') socket?.resetAndDestroy();
  else if (behaviour === 'garbage') socket?.end('SSH-2.0-OpenSSH_9.6\r\n\r\n');
  else if (behaviour === 'cut') socket?.end('HTTP/1.1 2');
  else {
    if (typeof behaviour === 'object') await sleep(behaviour.slowly);
    // Who asked has died meanwhile: an answer that nobody hears is none.
    if (response.destroyed) return null;
    const status = typeof behaviour === 'object' ? 204 : behaviour;
    response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
    return status;
  }
  return null;
}
