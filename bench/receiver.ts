import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { now } from './clock.js';
import { HttpMessages } from './http-messages.js';
import { answerQuestions } from './questions.js';

// A receiver in a process of its own: answers at once and keeps when each event first arrived at each path.

/** `refuse some`: refuses the first attempt of one event in sixteen, and does not count it as an arrival. */
export type Answers = 'accept' | 'refuse' | 'refuse some';
export type ReceiverQuestion = { ask: 'port' | 'count' | 'arrivals' } | { ask: 'clear'; answers: Answers };

export interface Arrivals {
  /** Different deliveries. */
  count: number;
  repeated: number;
  /** Transfer id and when its event arrived; only where asked for. */
  arrivals: [string, number][];
}

const HTTP = {
  accept: 'HTTP/1.1 204 No Content\r\n\r\n',
  refuse: 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n',
} as const;
const TRANSFER_ID = '"data":{"id":"';
const UUID_LENGTH = 36;
/** The last digit of a transfer's id is random. */
const SOME = '0'.charCodeAt(0);

const arrivals = new Map<string, number>();
let repeated = 0;
/** With `refuse some`: what was refused once. */
const refused = new Set<string>();
let answers: Answers = 'accept';

/** @returns the response to write */
function arrived(head: string, body: Buffer): string {
  const at = body.indexOf(TRANSFER_ID) + TRANSFER_ID.length;
  // A transfer changes once here, so that path and transfer tell a delivery, and a second event of it is seen as well.
  const key = body.toString('latin1', at, at + UUID_LENGTH) + head.slice(head.indexOf(' '), head.indexOf(' HTTP/'));
  if (answers === 'refuse some' && body[at + UUID_LENGTH - 1] === SOME && !refused.has(key)) {
    refused.add(key);
    return HTTP.refuse;
  }
  if (arrivals.has(key)) repeated++;
  else arrivals.set(key, now());
  return answers === 'refuse' ? HTTP.refuse : HTTP.accept;
}

const server = createServer({ noDelay: true }, (socket) => {
  const messages = new HttpMessages((head, body) => {
    socket.write(arrived(head, body));
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
      refused.clear();
      answers = question.answers;
    }
    const all = question.ask === 'arrivals' ? [...arrivals] : [];
    return {
      count: arrivals.size,
      repeated,
      arrivals: all.map(([key, at]) => [key.slice(0, UUID_LENGTH), at]),
    };
  }),
);
