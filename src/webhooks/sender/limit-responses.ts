import type { Socket } from 'node:net';
import { ProtocolFailure } from './attempt-error.js';
import { ResponseMeter } from './response-meter.js';

/**
 * TLS 1.3 session tickets of a connection; servers send one or two. Tickets arrive outside of the response, and cost
 * more CPU than its bytes.
 */
const MAX_SESSION_TICKETS = 16;

/**
 * Limits the bytes that this process reads for one response, on the connection itself. undici counts the names and
 * values of a head's fields, but not status lines, informational responses, empty lines and chunk extensions. A
 * receiver that sends these without end would keep the worker parsing for the whole attempt. A connection that exceeds
 * a limit is destroyed, so that it is never used again.
 *
 * undici takes bytes from a socket only by `read()`, so this function replaces the socket's `read()`.
 */
export function limitResponses(socket: Socket): void {
  const meter = new ResponseMeter();
  const read = socket.read.bind(socket);
  let requestBytes = 0;
  let exceeded = false;

  function end(): null {
    socket.destroy(new ProtocolFailure());
    return null;
  }

  let tickets = 0;
  socket.on('session', () => {
    if (++tickets > MAX_SESSION_TICKETS) end();
  });

  socket.read = (size?: number): Buffer | null => {
    if (exceeded) return end();
    const chunk: Buffer | null = read(size);
    if (chunk === null) return null;
    // A request is written completely before its response is read, so that newly written bytes mean a new request.
    if (socket.bytesWritten !== requestBytes) {
      requestBytes = socket.bytesWritten;
      meter.beginResponse();
    }
    const passed = meter.pass(chunk);
    exceeded = passed.exceeded;
    // undici parses the bytes within the limit and then reads again; that read ends the connection.
    if (passed.bytes.length > 0) return passed.bytes;
    return exceeded ? end() : null;
  };
}
