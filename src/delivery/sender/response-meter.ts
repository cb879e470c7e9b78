import type { Socket } from 'node:net';
import { ProtocolFailure } from './attempt-error.js';

/** Limit of one head: status line, fields, the empty line that ends it, and empty lines before it. */
export const MAX_HEAD_BYTES = 16 * 1024;
/** Limit of informational (1xx) responses before the final response. */
export const MAX_INFORMATIONAL = 8;
/** Limit of all bytes after the head: content, chunk framing, chunk extensions and trailers. */
export const MAX_BODY_BYTES = 64 * 1024;

/** Bytes that the HTTP parser may see, and whether the response exceeds a limit after them. */
export interface Passed {
  bytes: Buffer;
  exceeded: boolean;
}

/**
 * The part of a response that is being read:
 * - `start`: too few bytes have arrived to tell which kind of head begins
 * - `informational`: a 1xx head, of which no byte passes
 * - `head`: the head of the final response
 * - `body`: after that head, until the next response begins
 * - `switching`: a 101, which is refused: it responds to an `Upgrade`, and no request has that header
 */
type Part = 'start' | 'informational' | 'head' | 'body' | 'switching';

const END_OF_HEAD = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);
const CR = 0x0d;
const LF = 0x0a;
/** The first 12 bytes of an informational response. */
const INFORMATIONAL = /^HTTP\/1\.[01] 1\d\d$/;
const STATUS_END = 'HTTP/1.1 100'.length;
const BEGINNINGS = ['HTTP/1.1 1', 'HTTP/1.0 1'];

/**
 * Counts the bytes of each response as they arrive, and removes informational responses: RFC 9110, section 15.2, lets a
 * client ignore them, and undici ends a connection at a 100 that it did not request. The HTTP parser checks everything
 * else. The limits hold even if the parser and the meter disagree about the end of a head.
 */
export class ResponseMeter {
  #part: Part = 'start';
  /** Bytes of this part so far. */
  #count = 0;
  #informational = 0;
  /** Bytes that may begin an informational head, held until the kind of head is known. */
  #held: Buffer = NOTHING;
  /** The last bytes of a head so far. The end of the head may begin in them. */
  #tail: Buffer = NOTHING;

  beginResponse(): void {
    this.#informational = 0;
    this.#enter('start');
  }

  pass(chunk: Buffer): Passed {
    for (let bytes = chunk; ; ) {
      if (this.#part === 'body') return this.#passBody(bytes, 0);
      if (this.#part === 'start') {
        bytes = this.#begin(bytes);
        if (this.#part === 'start') return within(NOTHING, this.#count <= MAX_HEAD_BYTES);
        if (this.#part === 'switching') return within(NOTHING, false);
      }
      const passes = this.#part === 'head';
      const end = this.#endOfHead(bytes);
      if (end === undefined) {
        const good = this.#count <= MAX_HEAD_BYTES;
        return within(passes && good ? bytes : NOTHING, good);
      }
      if (passes) {
        this.#enter('body');
        return this.#passBody(bytes, end);
      }
      if (++this.#informational > MAX_INFORMATIONAL) return within(NOTHING, false);
      this.#enter('start');
      bytes = bytes.subarray(end);
    }
  }

  #enter(part: Part): void {
    this.#part = part;
    this.#count = 0;
    this.#held = NOTHING;
    this.#tail = NOTHING;
  }

  /** Leaves `start` as soon as the kind of head is known. @returns the head's bytes so far */
  #begin(bytes: Buffer): Buffer {
    let from = 0;
    while (this.#held.length === 0 && (bytes[from] === CR || bytes[from] === LF)) from++;
    this.#count += from;
    const rest = bytes.subarray(from);
    const begun = this.#held.length === 0 ? rest : Buffer.concat([this.#held, rest]);
    const line = begun.toString('latin1', 0, STATUS_END);
    if (line.length < STATUS_END && mayBeInformational(line)) this.#held = Buffer.from(begun);
    else this.#part = partOf(line);
    return begun;
  }

  /** @returns the number of these bytes that belong to the head; undefined: the head continues after them */
  #endOfHead(bytes: Buffer): number | undefined {
    const left = bytes.subarray(0, MAX_HEAD_BYTES - this.#count);
    const joined = this.#tail.length === 0 ? left : Buffer.concat([this.#tail, left]);
    const at = joined.indexOf(END_OF_HEAD);
    if (at >= 0) return at + END_OF_HEAD.length - this.#tail.length;
    this.#count += bytes.length;
    this.#tail = Buffer.from(joined.subarray(1 - END_OF_HEAD.length));
    return undefined;
  }

  #passBody(bytes: Buffer, from: number): Passed {
    const left = MAX_BODY_BYTES - this.#count;
    this.#count += bytes.length - from;
    const good = this.#count <= MAX_BODY_BYTES;
    return within(good ? bytes : bytes.subarray(0, from + Math.max(left, 0)), good);
  }
}

function partOf(line: string): Part {
  if (!INFORMATIONAL.test(line)) return 'head';
  return line.endsWith('101') ? 'switching' : 'informational';
}

const mayBeInformational = (line: string) =>
  BEGINNINGS.some((beginning) => line.startsWith(beginning) || beginning.startsWith(line));

const within = (bytes: Buffer, good: boolean): Passed => ({ bytes, exceeded: !good });

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
