import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * How long requests in flight may take to finish after the server stops accepting connections, ms. Longer than any
 * `REQUEST_DEADLINE`.
 */
const GRACE = 21_000;

/**
 * Stops the server. It serves for another `delay` ms, then accepts no new connection and gives requests in flight at
 * most 21 s to finish.
 */
export type Drain = (delay: number) => Promise<void>;

/**
 * Tracks the connections of a server, so that the server can stop without losing a request. A connection that is closed
 * while its client sends a request loses that request, and the client cannot know whether it took effect (RFC 9112
 * §9.5). The server therefore continues to serve at first, and every response asks its client to close the connection.
 * Idle connections are closed after that delay, when load balancers have seen /readyz fail and have closed their own.
 */
export function drainOf(server: Server): Drain {
  /**
   * Each connection with its incomplete responses. The response of a pipelined request emits no `close` if the
   * connection ends first, so the map drops it with its connection.
   */
  const connections = new Map<Socket, Set<ServerResponse>>();
  let ending = false;
  server.on('connection', (socket) => {
    connections.set(socket, new Set());
    socket.once('close', () => connections.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    if (ending) response.setHeader('Connection', 'close');
    const openResponses = connections.get(socket);
    openResponses?.add(response);
    response.once('close', () => openResponses?.delete(response));
  });
  return async (delay) => {
    ending = true;
    for (const response of [...connections.values()].flatMap((openResponses) => [...openResponses])) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
    await sleep(delay, undefined, { ref: false });
    await closed(server, [...connections.keys()]);
  };
}

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
