import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type Koa from 'koa';
import type { Config } from '../platform/config/config.js';
import { ConfigError } from '../platform/config/config-error.js';
import { guardSockets } from '../platform/networks.js';
import { Refusal } from '../platform/refusal.js';
import { type RejectedRequest, requestIdOf } from './middleware.js';
import { problemResponse } from './response.js';

export interface Listening {
  /** The port that was bound: the configured port, or a free port where that is 0. */
  port: number;
  /**
   * Serves for another `delay` ms (default 0), then accepts no new connection and gives requests in flight at most 21 s
   * to finish.
   */
  close(delay?: number): Promise<void>;
}

/** Limits on connections; times in ms. */
export const CONNECTION_LIMITS = {
  /**
   * Open connections; further ones are closed. An idle connection takes about 20 KB; a process has 512 MiB in deploy/.
   */
  connections: 5_000,
  /** Open connections of one address (IPv6: one /64) that is not a trusted proxy. */
  connectionsPerAddress: 500,
  /** Requests of one connection that may wait for the request before them; a further request closes the connection. */
  pipelined: 20,
  /** Time without a byte in either direction, also where a client does not read. Longer than any handler takes. */
  silence: 60_000,
  /**
   * Time from the end of a response until the client has read it: 1 MB at 17 KB/s, also for a client that reads slowly.
   */
  responseTaken: 60_000,
};

/** An open connection and its requests. */
interface Connection {
  latest: ServerResponse | undefined;
  /** Whether the latest response is in progress, or a waiting request is about to start. */
  busy: boolean;
  waiting: Exchange[];
  /** Responds to what could not be read, after the responses before it; the connection then ends. */
  unreadable?: () => void;
}

type Exchange = readonly [request: IncomingMessage, response: ServerResponse];

/** @throws the system's error (`EADDRINUSE`, `EACCES`) where the port cannot be bound */
export async function listen<State, Ctx>(
  app: Koa<State, Ctx>,
  config: Pick<Config, 'baseUrl' | 'host' | 'port' | 'allowedNetworks' | 'trustedProxies'>,
  limits = CONNECTION_LIMITS,
): Promise<Listening> {
  const handle = app.callback();
  const connections = new Map<Socket, Connection>();
  let ending = false;

  const begin = (connection: Connection, [request, response]: Exchange): void => {
    connection.latest = response;
    connection.busy = true;
    if (ending) response.setHeader('Connection', 'close');
    response.once('close', () => {
      connection.busy =
        request.socket.writable && (connection.waiting.length > 0 || connection.unreadable !== undefined);
      // In a later turn of the event loop: other connections are served between two requests of this one.
      if (connection.busy) setImmediate(proceed, connection);
    });
    const hosts = request.headersDistinct.host?.length ?? 0;
    if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1')) {
      refuse(response, 400, 'An HTTP/1.1 request has exactly one Host header (RFC 9112, section 3.2).');
      return;
    }
    const target = targetOf(request.url ?? '');
    if (target === undefined) {
      refuse(response, 400, 'The request target is no path and no http: URL (RFC 9112, section 3.2).');
      return;
    }
    request.url = target;
    endStalledResponse(response, limits.responseTaken);
    void handle(request, response);
  };

  const proceed = (connection: Connection): void => {
    const next = connection.waiting.shift();
    if (next) begin(connection, next);
    else connection.unreadable?.();
  };

  /** Refuses a request before the application sees it, with problem details like every other error. */
  const refuse = (response: ServerResponse, status: number, detail: string): void => {
    const request = response.req;
    const requestId = requestIdOf(request);
    const { headers, text } = problemOf(status, detail, config.baseUrl, requestId, request);
    response.writeHead(status, { ...headers, 'X-Request-Id': requestId, Connection: 'close' }).end(text);
    reject({ requestId, status, address: request.socket.remoteAddress, request });
  };

  const reject = (rejected: RejectedRequest) => app.emit('rejected', rejected);

  /**
   * Refuses a message that cannot be read as HTTP. The response has a problem body, and comes after the responses to
   * the requests before it. The application sees the message only if its head could be read; the problem then has the
   * request's id, which the log has too.
   */
  const refuseUnreadable = (error: NodeJS.ErrnoException, socket: Socket, connection: Connection): void => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    // Node reports each further piece of what it cannot read.
    if (connection.unreadable) return;
    const [status, detail] = UNREADABLE[error.code ?? ''] ?? [400, 'The message is not a valid HTTP request.'];
    const last = connection.waiting.at(-1)?.[1] ?? connection.latest;
    /** The response to the message, if it is the body that cannot be read. */
    const response = last?.req.complete ? undefined : last;
    const isSeen = response !== undefined && response === connection.latest;
    if (response && !isSeen) connection.waiting.pop();
    connection.unreadable = () => {
      // The application has responded without reading the body.
      if (response?.headersSent) {
        socket.end();
        return;
      }
      const requestId = String(
        response?.getHeader('X-Request-Id') ?? (response ? requestIdOf(response.req) : randomUUID()),
      );
      const { text } = problemOf(status, detail, config.baseUrl, requestId, response?.req);
      const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n`;
      if (!isSeen) reject({ requestId, status, address: socket.remoteAddress, request: response?.req });
      socket.end(head + text);
    };
    if (!connection.busy || (isSeen && !response.headersSent)) connection.unreadable();
  };

  const server = createServer({
    // These times bound the cost of a client that sends slowly. Idle connections stay open longer than a proxy's usual
    // 60 s. The number of requests on a connection is not limited: a proxy keeps few connections for all its clients.
    headersTimeout: 10_000,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 2_000,
    // Node's own refusal is not problem+json.
    requireHostHeader: false,
  });
  server.maxConnections = limits.connections;
  server.timeout = limits.silence;
  guardSockets(server, { ...config, ...limits });
  server.on('connection', (socket) => {
    connections.set(socket, { latest: undefined, busy: false, waiting: [] });
    socket.once('close', () => connections.delete(socket));
  });
  // The requests of a connection are handled in turn: the next one starts when the response before it has gone to the
  // kernel. A client that sends many requests and reads no response therefore costs one response and not one for each
  // request. Node parses all requests that arrive together and hands them over at once. It stops reading a socket only
  // while responses wait for the client, so a client that sends requests faster than they are handled is closed here
  // (RFC 9112 §9.3.2 lets a server do that, and a client then repeats what got no response).
  server.on('request', (request, response) => {
    const connection = connections.get(request.socket);
    if (connection?.busy === false) begin(connection, [request, response]);
    else if (connection && connection.waiting.length < limits.pipelined) connection.waiting.push([request, response]);
    else request.socket.destroy();
  });
  server.on('clientError', (error, socket: Socket) => {
    const connection = connections.get(socket);
    if (connection) refuseUnreadable(error, socket, connection);
    else socket.destroy();
  });
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    refuse(response, 417, 'The only supported expectation is 100-continue.');
  });
  server.listen({ port: config.port, host: config.host, backlog: BACKLOG });
  await once(server, 'listening');
  // An error such as a lack of file descriptors affects the accepted connection, not the process.
  server.on('error', (error) => app.emit('error', error));
  return {
    port: (server.address() as AddressInfo).port,
    async close(delay = 0) {
      // A connection that is closed while its client sends a request loses that request, and the client cannot know
      // whether it took effect (RFC 9112 §9.5). The server therefore continues to serve at first, and every response
      // asks its client to close the connection. Idle connections are closed after that delay, when load balancers have
      // seen /readyz fail and have closed their own.
      ending = true;
      for (const { busy, latest } of connections.values()) {
        if (busy && latest && !latest.headersSent) latest.setHeader('Connection', 'close');
      }
      await sleep(delay, undefined, { ref: false });
      await closed(server, [...connections.keys()]);
    },
  };
}

/** Disconnects a client that does not read its response in time: the unread part is held in memory. */
function endStalledResponse(response: ServerResponse, limit: number): void {
  response.once('prefinish', () => {
    // The kernel has taken most responses whole by now.
    if (response.writableLength === 0) return;
    const timer = setTimeout(() => response.destroy(), limit);
    response.once('close', () => clearTimeout(timer));
  });
}

/**
 * Connections that may wait in the kernel to be accepted. Node's default of 511 overflows when one client opens
 * hundreds of connections at once; the kernel then drops the SYN of other clients too, which try again after 1 s. The
 * kernel takes at most net.core.somaxconn (4,096 by default on Linux).
 */
const BACKLOG = 4_096;

/** @param request undefined where the head of the request could not be read */
function problemOf(status: number, detail: string, baseUrl: string, requestId: string, request?: IncomingMessage) {
  const where = { baseUrl, requestId, path: /^\/[^?]*/.exec(request?.url ?? '')?.[0] };
  return problemResponse(new Refusal('malformed_request', detail), where, { status });
}

const UNREADABLE: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
};

/** The path and query of a request target, which may be a whole URL; undefined: neither, which Koa could not read. */
function targetOf(target: string): string | undefined {
  if (target.startsWith('/') || target === '*') return target;
  const url = /^https?:/i.test(target) ? URL.parse(target) : null;
  return url ? url.pathname + url.search : undefined;
}

/** Errors of the address, not of the port: it is of no interface of the machine, or a name that does not resolve. */
const OF_ADDRESS = /^(EADDRNOTAVAIL|EINVAL|ENOTFOUND|EAI_\w+)$/;

/** Turns the system's error about a port or an address into a ConfigError that names the setting. */
export function toConfigError(setting: 'PORT' | 'METRICS_PORT') {
  return (error: NodeJS.ErrnoException): never => {
    throw error.syscall === undefined
      ? error
      : new ConfigError([`${OF_ADDRESS.test(error.code ?? '') ? 'HOST' : setting}: ${error.message}`]);
  };
}

/**
 * How long requests in flight may take to finish after the server stops accepting connections, ms. Longer than any
 * `REQUEST_DEADLINE`.
 */
const GRACE = 21_000;

function closed(server: Server, connections: readonly Socket[]): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), GRACE);
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
    server.closeIdleConnections();
    // Node does not count a connection as idle that was opened in advance and never used.
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  });
}
