import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How a receiver handles a request; a number is the status of the response. `endless`: a body that does not end. */
export type Behaviour = number | 'hang' | 'reset' | 'garbage' | 'cut' | 'endless' | { slowly: number };

/** A request that the receiver got. The check of its signature shares no code with the service. */
export interface Arrival {
  /** The path identifies the endpoint. */
  path: string;
  event: string;
  transfer: string;
  /** The transfer's status in the event. */
  status: string;
  /** The signed timestamp: no two attempts at one delivery share it. */
  t: string;
  body: string;
  validSignature: boolean;
  /** The status of the response; null: no HTTP response. */
  answered: number | null;
}

/** The path to which the service sends notifications. They are no arrivals. */
export const NOTIFICATIONS = '/notifications';

export interface Receiver {
  url: string;
  arrivals: Arrival[];
  close(): Promise<void>;
}

/** @param behave the behaviour for the n-th request (from 1) for this event at this path */
export async function startReceiver(
  secret: string,
  behave: (path: string, event: string, n: number) => Behaviour,
): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const seen = new Map<string, number>();
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const body = await read(request).catch(() => undefined);
    // The sender died during the request, so the request did not arrive.
    if (body === undefined) return;
    if (request.url === NOTIFICATIONS) return void response.writeHead(204).end();
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
  const validSignature = v0 === createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
  const told = { event: id, transfer: data.id, status: data.status };
  return { path: request.url ?? '', ...told, t, body, validSignature, answered: null };
}

async function answer(response: ServerResponse, behaviour: Behaviour): Promise<number | null> {
  const { socket } = response;
  if (behaviour === 'hang') return null;
  if (behaviour === 'reset') socket?.resetAndDestroy();
  else if (behaviour === 'garbage') socket?.end('SSH-2.0-OpenSSH_9.6\r\n\r\n');
  else if (behaviour === 'cut') socket?.end('HTTP/1.1 2');
  else if (behaviour === 'endless') {
    socket?.write('HTTP/1.1 500 Oh\r\n\r\nhello');
    return 500;
  } else {
    if (typeof behaviour === 'object') await sleep(behaviour.slowly);
    // The sender died during the response, so the response counts as none.
    if (response.destroyed) return null;
    const status = typeof behaviour === 'object' ? 204 : behaviour;
    response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
    return status;
  }
  return null;
}
