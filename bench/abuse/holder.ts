import { connect, type Socket } from 'node:net';
import { answerQuestions } from '../questions.js';

// A client that holds connections: it sends requests and reads no response, sends half a head, or sends nothing.

interface HeldConnections {
  baseUrl: string;
  token: string;
  /** Connections whose responses are not read. */
  unread: number;
  /** Connections with half a head, and the same number of silent connections. */
  others: number;
}

export type HolderQuestion = { hold: HeldConnections } | { release: true };

const REQUESTS_EACH = 40;
/** Not the victim's address: the service limits connections and open documents by address. */
const HOLDER_ADDRESS = '127.0.0.2';
const held = new Set<Socket>();
let wanted: HeldConnections | undefined;

function open(baseUrl: string, bytes: (host: string) => string): void {
  const { host, hostname, port } = new URL(baseUrl);
  const socket = connect({ host: hostname, port: Number(port), localAddress: HOLDER_ADDRESS }, () =>
    socket.write(bytes(host)),
  );
  socket.pause();
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    held.delete(socket);
    // A closed connection is opened again.
    setTimeout(() => wanted && open(baseUrl, bytes), 1_000).unref();
  });
  held.add(socket);
}

answerQuestions((question: HolderQuestion): { held: number } => {
  const count = held.size;
  if ('hold' in question) {
    wanted = question.hold;
    const { baseUrl, token, unread, others } = wanted;
    const half = (host: string) => `GET /transfers HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n`;
    for (let i = 0; i < unread; i++) {
      open(baseUrl, (host) => `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(REQUESTS_EACH));
    }
    for (let i = 0; i < others; i++) {
      open(baseUrl, half);
      open(baseUrl, () => '');
    }
  } else {
    wanted = undefined;
    for (const socket of held) socket.destroy();
  }
  return { held: count };
});
