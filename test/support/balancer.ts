import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** A load balancer like the one in production. */
export interface Balancer {
  url: string;
  /** Number of upstreams that count as ready. */
  ready(): number;
  /** Requests to which the balancer responded with 502, and the reason. */
  failures: string[];
  /** The number of 503 responses of the APIs by their `detail`. */
  unavailable: Record<string, number>;
  close(): Promise<void>;
}

const HEALTH_INTERVAL = 50;

/**
 * Starts a round robin over the APIs at these ports of 127.0.0.1, with persistent connections. An API gets no requests
 * while its /readyz is not 200. Only a request whose connection is refused goes to another API: an API may already have
 * served any other request.
 */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  // An API closes a connection that was idle for 65 s. A balancer closes it first, else a request may meet its end.
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64, timeout: 30_000 });
  const ready = new Set<number>();
  const failures: string[] = [];
  const unavailable: Record<string, number> = {};
  const closed = new AbortController();
  let turn = 0;

  const watch = async (port: number) => {
    while (!closed.signal.aborted) {
      const { status } = await send(false, port, { method: 'GET', path: '/readyz' }).catch(() => ({ status: 0 }));
      if (status === 200) ready.add(port);
      else ready.delete(port);
      await sleep(HEALTH_INTERVAL, undefined, { signal: closed.signal }).catch(() => undefined);
    }
  };
  for (const port of ports) void watch(port);

  const forward = async (incoming: IncomingMessage): Promise<Reply> => {
    const { method = '', url: path = '' } = incoming;
    const body = await buffer(incoming);
    for (;;) {
      const [port] = [...ready].sort().slice(turn++ % Math.max(1, ready.size));
      if (port === undefined) throw new Error('no API is ready');
      try {
        const reply = await send(agent, port, { method, path, headers: withoutHops(incoming.headers), body });
        if (reply.status === 503) {
          const { detail } = JSON.parse(reply.body.toString()) as { detail: string };
          unavailable[detail] = (unavailable[detail] ?? 0) + 1;
        }
        return reply;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
        ready.delete(port);
      }
    }
  };
  const server = createServer((incoming, response) => {
    forward(incoming).then(
      ({ status, headers, body }) => response.writeHead(status, withoutHops(headers)).end(body),
      (error: Error) => {
        failures.push(`${incoming.method} ${incoming.url}: ${error.message}`);
        response.writeHead(502).end();
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ready: () => ready.size,
    failures,
    unavailable,
    async close() {
      closed.abort();
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

function send(
  agent: Agent | false,
  port: number,
  { body, ...options }: { method: string; path: string; headers?: IncomingHttpHeaders; body?: Buffer },
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ agent, host: '127.0.0.1', port, ...options });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      const { statusCode: status = 0, headers } = response;
      buffer(response).then((body) => resolve({ status, headers, body }), reject);
    });
    outgoing.end(body);
  });
}

/** Removes the headers that apply to one connection only (RFC 9110, section 7.6.1). */
function withoutHops({ connection, 'keep-alive': _, 'transfer-encoding': __, ...headers }: IncomingHttpHeaders) {
  return headers;
}
