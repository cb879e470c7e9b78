import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { answerQuestions } from '../questions.js';
import { FLOODS } from './floods.js';

// A receiver whose responses never end. The letter in the path selects their content.

const PATH_AT = 'POST /'.length;

let written = 0;

function answer(socket: Socket, path: string): void {
  const [once, again] = FLOODS[path] ?? ['', 'x'];
  const more = (): void => {
    if (socket.destroyed) return;
    written += again.length;
    socket.write(again, () => setImmediate(more));
  };
  socket.write(once, more);
}

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  socket.once('data', (chunk) => answer(socket, chunk.toString('latin1', PATH_AT, PATH_AT + 1)));
});

server.listen(0, '127.0.0.1', () =>
  answerQuestions((): { port: number; mebibytes: number } => ({
    port: (server.address() as AddressInfo).port,
    mebibytes: written / 2 ** 20,
  })),
);
