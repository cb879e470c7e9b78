import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The one thing that a receiver does wrong. */
export type Mistake =
  | 'accepts any signature'
  | 'accepts an old t'
  | 'verifies the body as Python writes it again'
  | 'verifies the body as JavaScript writes it again'
  | 'rejects unknown types'
  | 'rejects unknown fields'
  | 'rejects duplicates'
  | 'rejects older events'
  | 'ignores a missing signature'
  | 'ignores the body'
  | 'redirects'
  | 'hangs'
  | 'fails'
  | 'has both length headers';

export interface CheckedReceiver {
  url: string;
  /** The body and the signature of each request. */
  requests: { body: string; signature: string | undefined }[];
  close(): Promise<void>;
}

const BOTH = 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';
const FIVE_MINUTES = 5 * 60_000;

/** A receiver that follows the specification (§5, §6), except for one mistake. */
export async function startCheckedReceiver(secret: string, mistake?: Mistake): Promise<CheckedReceiver> {
  const requests: CheckedReceiver['requests'] = [];
  const known = new Set<string>();
  const latest = new Map<string, string>();
  const is = (one: Mistake) => mistake === one;

  function isSigned(body: string, signature: string | undefined): boolean {
    if (signature === undefined) return is('ignores a missing signature');
    const [, t = '', v0 = ''] = /^t=([^,]+),v0=([0-9a-f]{64})$/.exec(signature) ?? [];
    if (!is('accepts an old t') && !(Date.now() - Date.parse(t) <= FIVE_MINUTES)) return false;
    if (is('accepts any signature')) return true;
    const digest = createHmac('sha256', secret)
      .update(`${t}.${bytesFor(body)}`)
      .digest('hex');
    return v0 !== '' && timingSafeEqual(Buffer.from(digest), Buffer.from(v0));
  }

  function bytesFor(body: string): string {
    const compact = JSON.stringify(JSON.parse(body));
    if (is('verifies the body as JavaScript writes it again')) return compact;
    if (is('verifies the body as Python writes it again')) return compact.replaceAll(/([:,])(?=["{])/g, '$1 ');
    return body;
  }

  function statusFor(body: string, signature: string | undefined): number {
    if (is('redirects')) return 302;
    if (is('fails')) return 500;
    if (is('ignores the body')) return signature === undefined ? 401 : 204;
    if (!isSigned(body, signature)) return 401;
    const event = JSON.parse(body);
    if (is('rejects unknown types') && event.type !== 'transfer.status_changed') return 422;
    if (is('rejects unknown fields') && 'unknown_field' in event) return 422;
    if (is('rejects duplicates') && known.has(event.id)) return 409;
    if (is('rejects older events') && event.created_at < (latest.get(event.data.id) ?? '')) return 409;
    known.add(event.id);
    latest.set(event.data.id, event.created_at);
    return 204;
  }

  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const { 'service-signature': signature } = request.headers as Record<string, string | undefined>;
    requests.push({ body, signature });
    if (is('has both length headers')) response.socket?.end(`HTTP/1.1 ${statusFor(body, signature)} x\r\n${BOTH}`);
    else if (!is('hangs')) response.writeHead(statusFor(body, signature), { Location: '/elsewhere' }).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
