import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type Koa from 'koa';
import type { Config } from '../config.js';
import { guardSocket, limitSocketsPerAddress } from '../networks.js';
import { drainOf } from './drain.js';
import { inTurn } from './pipelining.js';

export interface Listening {
  /** The port that was bound: the one asked for, or a free one where that was 0. */
  port: number;
  /** Serves on for `delay` ms (none: 0), then takes nothing new and lets requests in flight end, at most 10 s. */
  close(delay?: number): Promise<void>;
}

/** What connections may cost; times in ms. */
export interface ConnectionLimits {
  /** Connections at once; further ones are closed. An idle one takes about 20 KB, a process has 512 MiB in deploy/. */
  connections: number;
  /** Connections at once from one address (IPv6: one /64) that is no trusted proxy. */
  connectionsPerAddress: number;
  /** Requests of one connection that may wait for the one before them; a further one closes the connection. */
  pipelined: number;
  /** Without a byte in either direction, also where a client does not read. Longer than any handler takes. */
  silence: number;
  /** From the end of an answer until the client has taken it: 1 MB at 17 KB/s, for one that reads byte by byte. */
  answerTaken: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  connections: 5_000,
  connectionsPerAddress: 500,
  pipelined: 100,
  silence: 60_000,
  answerTaken: 60_000,
};

/** @throws the system's error (`EADDRINUSE`, `EACCES`) where the port cannot be had */
export async function listen<State, Ctx>(
  app: Koa<State, Ctx>,
  config: Pick<Config, 'host' | 'port' | 'allowedNetworks' | 'trustedProxies'>,
  limits = CONNECTION_LIMITS,
): Promise<Listening> {
  const handle = app.callback();
  const server = createServer(
    // A client that sends slowly costs no more than this; idle connections outlive a proxy's usual 60 s. The number of
    // requests on a connection is not limited: a proxy keeps few of them for all clients.
    {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 2_000,
      // Node's own refusal is no problem+json.
      requireHostHeader: false,
    },
    inTurn((request, response) => {
      if (request.httpVersion === '1.1' && request.headers.host === undefined) {
        refuse(response, 400, 'Bad Request', 'HTTP/1.1 asks for a Host header (RFC 9112, section 3.2).');
        return;
      }
      endStalledAnswer(response, limits.answerTaken);
      void handle(request, response);
    }, limits.pipelined),
  );
  server.maxConnections = limits.connections;
  server.timeout = limits.silence;
  server.on('clientError', answerUnreadable);
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    refuse(response, 417, 'Expectation Failed', 'The only expectation that is met is 100-continue.');
  });
  const drain = drainOf(server);
  limitSocketsPerAddress(server, limits.connectionsPerAddress, config.trustedProxies);
  guardSocket(server, config.allowedNetworks, config.trustedProxies);
  await bound(server, config);
  // Such as no more file descriptors for an accepted connection: that costs this connection, not the process.
  server.on('error', (error) => app.emit('error', error));
  return {
    port: (server.address() as AddressInfo).port,
    close: (delay = 0) => drain(delay),
  };
}

/** Cuts off a client that does not take its answer in time: what it has not read is kept in memory. */
function endStalledAnswer(response: ServerResponse, limit: number): void {
  response.once('prefinish', () => {
    const timer = setTimeout(() => response.destroy(), limit);
    response.once('close', () => clearTimeout(timer));
  });
}

/**
 * Connections that may wait in the kernel to be accepted. Node's default of 511 overflows when one client opens hundreds of
 * connections at once; the kernel then drops the SYN of other clients too, which try again after 1 s. The kernel takes at
 * most net.core.somaxconn (4,096 by default on Linux).
 */
const BACKLOG = 4_096;

function bound(server: Server, { host, port }: Pick<Config, 'host' | 'port'>): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** What is refused before the application sees it gets problem details all the same. */
function refuse(response: ServerResponse, status: number, title: string, detail: string): void {
  const headers = { 'Content-Type': 'application/problem+json', Connection: 'close' };
  response.writeHead(status, headers).end(problem(status, title, detail));
}

function problem(status: number, title: string, detail: string): string {
  return JSON.stringify({ type: 'about:blank', title, status, detail, code: 'malformed_request' });
}

const UNREADABLE: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request took too long to arrive.'],
};

/** What is no HTTP never reaches the application; it gets problem details all the same, as far as a status goes. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, title, detail] = UNREADABLE[error.code ?? ''] ?? [400, 'Bad Request', 'This is no HTTP request.'];
  const body = problem(status, title, detail);
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
