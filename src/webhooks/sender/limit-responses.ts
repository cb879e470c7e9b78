import type { Socket } from 'node:net';
import { ProtocolFailure } from './attempt-error.js';
import { ResponseMeter } from './response-meter.js';

/** TLS 1.3 session tickets of a connection; servers send one or two. They come beside the answer, and cost more CPU. */
const MAX_SESSION_TICKETS = 16;

/**
 * Bounds what one answer makes this process read, on the connection itself. undici counts the names and values of a head's
 * fields, but no status line, no informational answer, no empty line and no chunk extension: a receiver that sends these
 * without end would keep the worker parsing for as long as an attempt lasts. A connection that exceeds a limit is
 * destroyed, so that it is never used again.
 *
 * undici takes bytes from a socket by `read()` alone; what that returns is cut here.
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
    // A request is written whole before its answer is read: bytes written since the last look mean a new request.
    if (socket.bytesWritten !== requestBytes) {
      requestBytes = socket.bytesWritten;
      meter.beginAnswer();
    }
    const passed = meter.pass(chunk);
    exceeded = passed.exceeded;
    // undici parses what is still within the limit, reads again, and so ends the connection.
    if (passed.bytes.length > 0) return passed.bytes;
    return exceeded ? end() : null;
  };
}
