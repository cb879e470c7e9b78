import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Handled = [request: IncomingMessage, response: ServerResponse];

/**
 * Handles the requests of a connection in turn: the next one starts when the response before it has gone to the kernel.
 * A client that sends many requests and reads no response therefore costs one response and not one for each request.
 * Node parses all requests that arrive together and hands them over at once. It stops reading a socket only while
 * responses wait for the client, so a client that sends requests faster than they are handled is closed here.
 * @param waiting requests of one connection that may wait; a further one closes the connection (RFC 9112 §9.3.2 lets a
 *   server do that, and a client then repeats what got no response)
 */
export function inTurn(handle: RequestListener, waiting: number): RequestListener {
  const queues = new WeakMap<Socket, Handled[]>();
  const start = (socket: Socket, [request, response]: Handled): void => {
    response.once('close', () => {
      const next = socket.writable ? queues.get(socket)?.shift() : undefined;
      // In a later turn of the event loop: other connections are served between two requests of this one.
      if (next) setImmediate(start, socket, next);
      else queues.delete(socket);
    });
    handle(request, response);
  };
  return (request, response) => {
    const { socket } = request;
    const queue = queues.get(socket);
    if (queue === undefined) {
      queues.set(socket, []);
      start(socket, [request, response]);
    } else if (queue.length < waiting) {
      queue.push([request, response]);
    } else {
      socket.destroy();
    }
  };
}
