const END_OF_HEAD = '\r\n\r\n';

/**
 * Cuts a stream of bytes into HTTP/1.1 messages (RFC 9112), requests or responses alike, as far as this bench needs it:
 * a body has a Content-Length or there is none. Node's own parser would take several times the CPU, of the cores that
 * are measured.
 */
export class HttpMessages {
  #rest: Buffer = Buffer.alloc(0);

  constructor(private readonly onMessage: (head: string, body: Buffer) => void) {}

  /** @throws Error for a message with another framing */
  feed(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const endOfHead = bytes.indexOf(END_OF_HEAD);
      if (endOfHead < 0) break;
      const head = bytes.toString('latin1', 0, endOfHead);
      const begin = endOfHead + END_OF_HEAD.length;
      const end = begin + contentLength(head);
      if (bytes.length < end) break;
      this.onMessage(head, bytes.subarray(begin, end));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }
}

function contentLength(head: string): number {
  if (/\r\ntransfer-encoding:/i.test(head)) throw new Error('the bench does not support Transfer-Encoding');
  return Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
}
