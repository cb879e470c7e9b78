import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long requests in flight may take to end once nothing new is taken, ms. */
const GRACE = 10_000;

/** Ends the server: serves on for `delay` ms, then takes nothing new and lets what is in flight end (at most 10 s). */
export type Drain = (delay: number) => Promise<void>;

/**
 * Watches over a server, so that it can end without losing a request. A connection that is closed just as its client sends
 * on it loses that request, and nothing tells the client whether it counted (RFC 9112, section 9.5). So the server first
 * serves on, and every answer asks its client to let the connection go; what is idle is closed only after that, when load
 * balancers have turned away (/readyz) and let go of theirs.
 */
export function drainOf(server: Server): Drain {
  /** With the responses that are not complete. One of a pipelined request never closes where the connection ends first. */
  const connections = new Map<Socket, Set<ServerResponse>>();
  let ending = false;
  server.on('connection', (socket) => {
    connections.set(socket, new Set());
    socket.once('close', () => connections.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    if (ending) response.setHeader('Connection', 'close');
    const answering = connections.get(socket);
    answering?.add(response);
    response.once('close', () => answering?.delete(response));
  });
  return async (delay) => {
    ending = true;
    for (const response of [...connections.values()].flatMap((answering) => [...answering])) {
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
    // One that was opened ahead, and never used, is not idle to Node but about to send.
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  });
}
