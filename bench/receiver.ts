import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { now } from './clock.js';
import { HttpMessages } from './http-messages.js';
import { answerQuestions } from './questions.js';

// A receiver in its own process: responds at once and stores when each event first arrived at each path.

/**
 * `accept in 1 ms`: one millisecond later. `fail some`: fails the first attempt of one event in sixteen, and does not
 * count it as an arrival. `some dead`: fails whatever comes for three endpoints in sixteen. `some hang`: as before, and
 * leaves three others without a response.
 */
export type Responses = 'accept' | 'accept in 1 ms' | 'fail' | 'fail some' | 'some dead' | 'some hang';
export type ReceiverQuestion =
  | { ask: 'port' | 'count' | 'arrivals' }
  | { ask: 'clear' | 'respond'; responses: Responses };

export interface Arrivals {
  /** Different deliveries. */
  count: number;
  repeated: number;
  /** Transfer id, when its event arrived, and whether the endpoint never fails or hangs; only on request. */
  arrivals: [transferId: string, at: number, isHealthy: boolean][];
}

const HTTP = {
  accept: 'HTTP/1.1 204 No Content\r\n\r\n',
  fail: 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n',
} as const;
const TRANSFER_ID = '"data":{"id":"';
const UUID_LENGTH = 36;
/** The last digit of a transfer's id is random. */
const SOME = '0'.charCodeAt(0);

const arrivals = new Map<string, number>();
let repeated = 0;
/** With `fail some`: the events that have failed once. */
const failed = new Set<string>();
let responses: Responses = 'accept';

/** Endpoints by the last digit of the id that ends their path, which is random. */
const DEAD = /[012] HTTP/;
const HANGING = /[345] HTTP/;
/** The end of an arrival's key. */
const HEALTHY = /[^0-5]$/;

/** @returns the response to write; undefined: none */
function arrived(head: string, body: Buffer): string | undefined {
  const at = body.indexOf(TRANSFER_ID) + TRANSFER_ID.length;
  // A transfer changes once here, so path and transfer identify a delivery, and a second event shows.
  const key = body.toString('latin1', at, at + UUID_LENGTH) + head.slice(head.indexOf(' '), head.indexOf(' HTTP/'));
  if (responses.startsWith('some') && DEAD.test(head)) return HTTP.fail;
  if (responses === 'some hang' && HANGING.test(head)) return undefined;
  if (responses === 'fail some' && body[at + UUID_LENGTH - 1] === SOME && !failed.has(key)) {
    failed.add(key);
    return HTTP.fail;
  }
  if (arrivals.has(key)) repeated++;
  else arrivals.set(key, now());
  return responses === 'fail' ? HTTP.fail : HTTP.accept;
}

const server = createServer({ noDelay: true }, (socket) => {
  const messages = new HttpMessages((head, body) => {
    const response = arrived(head, body);
    if (response === undefined) return;
    if (responses === 'accept in 1 ms') setTimeout(() => socket.write(response), 1);
    else socket.write(response);
  });
  socket.on('data', (chunk) => messages.feed(chunk));
  socket.on('error', () => socket.destroy());
});

server.listen(0, '127.0.0.1', () =>
  answerQuestions((question: ReceiverQuestion): Arrivals | { port: number } => {
    if (question.ask === 'port') return { port: (server.address() as AddressInfo).port };
    if (question.ask === 'clear') {
      arrivals.clear();
      repeated = 0;
      failed.clear();
    }
    if (question.ask === 'clear' || question.ask === 'respond') responses = question.responses;
    const all = question.ask === 'arrivals' ? [...arrivals] : [];
    return {
      count: arrivals.size,
      repeated,
      arrivals: all.map(([key, at]) => [key.slice(0, UUID_LENGTH), at, HEALTHY.test(key)]),
    };
  }),
);
