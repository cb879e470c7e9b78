import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rawBody, signatureOf } from '../receiver/raw-body.js';
import { SignatureError, verify } from '../verify.js';

/** A delivery that the receiver got, with the outcome. */
export interface Arrival {
  at: Date;
  /** From the body; null if the body is not an event. */
  eventId: string | null;
  type: string | null;
  /** Null also if it is larger than 4,096 characters of JSON. The `data` of an event has about 80. */
  data: unknown;
  /** The `Service-Signature` header. */
  header: string | null;
  /** `verified`, or the reason for people why the signature is not valid. */
  signature: string;
  verified: boolean;
  /** A verified delivery with the same event id arrived before. A receiver does not process it again. */
  seenBefore: boolean;
  /** The status of the response. */
  answered: number;
}

interface ReceiverOptions {
  /** 0 picks a free port. */
  port: number;
  secret: Uint8Array | string;
  /** The number of first deliveries that get 500. */
  failFirst: number;
  onArrival(arrival: Arrival): void;
}

/**
 * Starts a receiver that verifies the signature of the raw body, de-duplicates on the
 * event id and responds at once.
 */
export async function startReceiver(options: ReceiverOptions): Promise<{ url: string; close(): Promise<void> }> {
  const seen = new Set<string>();
  let toFail = options.failFirst;
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    const body = await rawBody(request).catch(() => undefined);
    if (!body) {
      response.writeHead(413, { connection: 'close' }).end();
      return;
    }
    const arrival = judge(request, body, options.secret);
    if (toFail > 0) {
      toFail--;
      arrival.answered = 500;
    } else if (arrival.verified && arrival.eventId !== null) {
      arrival.seenBefore = seen.has(arrival.eventId);
      seen.add(arrival.eventId);
    }
    response.writeHead(arrival.answered).end();
    options.onArrival(arrival);
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function judge(request: IncomingMessage, body: Uint8Array, secret: Uint8Array | string): Arrival {
  const header = signatureOf(request);
  const common = { at: new Date(), seenBefore: false, header: header.join(', ') || null, ...readEvent(body) };
  try {
    verify({ header, body, secret });
    return { ...common, signature: 'verified', verified: true, answered: 204 };
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return { ...common, signature: error.message, verified: false, answered: 401 };
  }
}

const LONGEST_DATA = 4_096;

function readEvent(body: Uint8Array): Pick<Arrival, 'eventId' | 'type' | 'data'> {
  try {
    const event: unknown = JSON.parse(Buffer.from(body).toString());
    const { id, type, data = null } = event as { id?: unknown; type?: unknown; data?: unknown };
    return {
      eventId: typeof id === 'string' ? id : null,
      type: typeof type === 'string' ? type : null,
      // Throws at thousands of levels: that is no event.
      data: JSON.stringify(data).length <= LONGEST_DATA ? data : null,
    };
  } catch {
    return { eventId: null, type: null, data: null };
  }
}
