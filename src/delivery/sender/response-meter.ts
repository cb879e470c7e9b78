import type { Socket } from 'node:net';
import { ProtocolFailure } from './attempt-error.js';
import { describeForeign, faultsOf, isPlain, lengthOfHead, mayBeStatusLine, statusOf } from './response-head.js';

/** Limit of one head: status line, fields, the empty line that ends it, and empty lines before it. */
export const MAX_HEAD_BYTES = 16 * 1024;
/** Limit of informational (1xx) responses before the final response. */
export const MAX_INFORMATIONAL = 8;
/** Limit of all bytes after the head: content, chunk framing, chunk extensions and trailers. */
export const MAX_BODY_BYTES = 64 * 1024;

/**
 * The status of the note with which the meter reports the first line of a response before the parser judges the rest.
 * undici passes it on as an informational response; no other one passes the meter.
 */
export const NOTE_STATUS = 199;

/** The headers of a note. */
export type Note = { status: string };

/** Bytes that the HTTP parser may see, and the failure after which no more may follow. */
export interface Passed {
  bytes: Buffer;
  failure?: ProtocolFailure;
}

const NOTHING = Buffer.alloc(0);

/**
 * Reads the status line of each response from its bytes, because it alone decides, and counts the bytes as they
 * arrive. Informational responses are removed: RFC 9110, section 15.2, lets a client ignore them, and undici ends a
 * connection at a 100 that it did not request. A head is held until it is complete. After a faulty one the connection
 * ends; a plain one passes without a note. The limits hold even if the parser and the meter disagree about a head.
 */
export class ResponseMeter {
  /** The bytes of this head so far; undefined: the head has passed, and the body follows. */
  #held: Buffer | undefined = NOTHING;
  /** The status of this head, as soon as its first line is complete. */
  #status: number | undefined;
  #informational = 0;
  #bodyBytes = 0;

  beginResponse(): void {
    this.#held = NOTHING;
    this.#status = undefined;
    this.#informational = 0;
    this.#bodyBytes = 0;
  }

  pass(chunk: Buffer): Passed {
    if (this.#held === undefined) return this.#passBody(chunk);
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let note = '';
    for (;;) {
      const held = this.#held.toString('latin1', 0, MAX_HEAD_BYTES);
      const text = held.replace(/^[\r\n]+/, '');
      const tooLarge = this.#held.length > MAX_HEAD_BYTES;
      if (this.#status === undefined) {
        if (!mayBeStatusLine(text)) return passed(note, describeForeign(text));
        if (!text.includes('\n')) return passed(note, tooLarge && 'No status line ended within 16 KiB.');
        this.#status = statusOf(text);
        if (this.#status === 101) return passed(note, 'The receiver switches the protocol (101).');
        if (this.#status >= 200) note = `HTTP/1.1 ${NOTE_STATUS} Note\r\nstatus: ${this.#status}\r\n\r\n`;
        else if (++this.#informational > MAX_INFORMATIONAL) return passed(note, TOO_MANY);
      }
      const length = lengthOfHead(text);
      if (length === undefined) return passed(note, tooLarge && 'The head of the response is larger than 16 KiB.');
      const rest = this.#held.subarray(held.length - text.length + length);
      if (this.#status >= 200) {
        const isWhole = this.#held === chunk && text === held && note !== '';
        return this.#passHead(isWhole ? chunk : undefined, note, text.slice(0, length), rest);
      }
      this.#held = rest;
      this.#status = undefined;
    }
  }

  /** @param whole the chunk, if it is this head and `rest` and nothing else */
  #passHead(whole: Buffer | undefined, note: string, head: string, rest: Buffer): Passed {
    this.#held = undefined;
    const faults = faultsOf(head);
    if (faults.length > 0) return passed(note, `The head of the response has ${LIST.format(faults)}.`);
    const body = this.#passBody(rest);
    if (whole && !body.failure && isPlain(head)) return { bytes: whole };
    return { ...body, bytes: Buffer.concat([Buffer.from(note + head, 'latin1'), body.bytes]) };
  }

  #passBody(bytes: Buffer): Passed {
    const left = MAX_BODY_BYTES - this.#bodyBytes;
    this.#bodyBytes += bytes.length;
    if (bytes.length <= left) return { bytes };
    return {
      bytes: bytes.subarray(0, Math.max(left, 0)),
      failure: new ProtocolFailure('The body is cut after 64 KiB.'),
    };
  }
}

const LIST = new Intl.ListFormat('en');
const TOO_MANY = `More than ${MAX_INFORMATIONAL} informational (1xx) responses came before the response.`;

function passed(text: string, failure: string | false): Passed {
  return { bytes: Buffer.from(text, 'latin1'), ...(failure && { failure: new ProtocolFailure(failure) }) };
}

/**
 * TLS 1.3 session tickets of a connection; servers send one or two. Tickets arrive outside of the response, and cost
 * more CPU than its bytes.
 */
const MAX_SESSION_TICKETS = 16;

/**
 * Limit of the bytes of a handshake, and of those that TLS then adds to those of the responses, which it may double.
 * Renegotiations and changes of keys cost much CPU, and no event reports them.
 */
const MAX_TLS_BYTES = 256 * 1024;
/** How often that limit is checked, ms. */
const INTERVAL = 50;

/** Calls `exceeded` once the handshake on a socket has read more than the limit. @returns ends the checks */
export function limitHandshake(socket: Socket, exceeded: () => void): () => void {
  const timer = setInterval(() => {
    if (socket.bytesRead > MAX_TLS_BYTES) exceeded();
  }, INTERVAL).unref();
  return () => clearInterval(timer);
}

/**
 * Limits the bytes that this process reads for one response, on the connection itself. undici counts the names and
 * values of a head's fields, but not status lines, informational responses, empty lines and chunk extensions. A
 * receiver that sends these without end would keep the worker parsing for the whole attempt. A connection that exceeds
 * a limit is destroyed, so that it is never used again.
 *
 * undici takes bytes from a socket only by `read()`, so this function replaces the socket's `read()`.
 * @param below the TCP socket below the TLS of `socket`, or the same
 */
export function limitResponses(socket: Socket, below: Socket): void {
  const meter = new ResponseMeter();
  const read = socket.read.bind(socket);
  let requestBytes = 0;
  let failure: ProtocolFailure | undefined;

  function end(failed: ProtocolFailure): null {
    socket.destroy(failed);
    return null;
  }

  let tickets = 0;
  socket.on('session', () => {
    if (++tickets > MAX_SESSION_TICKETS)
      end(new ProtocolFailure('The receiver sends TLS session tickets without end.'));
  });

  let clear = 0;
  const begun = below.bytesRead;
  if (below !== socket) {
    const timer = setInterval(() => {
      if (below.bytesRead - begun > MAX_TLS_BYTES + 2 * clear)
        end(new ProtocolFailure('The receiver sends TLS records without content.'));
    }, INTERVAL).unref();
    socket.once('close', () => clearInterval(timer));
  }

  socket.read = (size?: number): Buffer | null => {
    if (failure) return end(failure);
    const chunk: Buffer | null = read(size);
    if (chunk === null) return null;
    clear += chunk.length;
    // A request is written completely before its response is read, so that newly written bytes mean a new request.
    if (socket.bytesWritten !== requestBytes) {
      requestBytes = socket.bytesWritten;
      meter.beginResponse();
    }
    const passed = meter.pass(chunk);
    failure = passed.failure;
    // undici parses the bytes within the limit and then reads again; that read ends the connection.
    if (passed.bytes.length > 0) return passed.bytes;
    return failure ? end(failure) : null;
  };
}
