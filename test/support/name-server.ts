import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';

/** How the server responds: with an error (RFC 1035 §4.1.1), or `well`, with 127.0.0.1 for every name. */
export type NameServerMood = 'SERVFAIL' | 'NXDOMAIN' | 'well';

const ERRORS = { SERVFAIL: 2, NXDOMAIN: 3, well: 0 };
const A = 1;
/** A record: the name of the question (a pointer to byte 12), type A, class IN, TTL 0 s, 127.0.0.1. */
const HERE = Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);

/** Starts a name server that responds according to its `mood`. `env` makes a process of the service use it. */
export async function startNameServer() {
  const server = { mood: 'SERVFAIL' as NameServerMood, env: {}, close: () => socket.close() };
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12) + 5;
    const answered = server.mood === 'well' && query.readUInt16BE(end - 4) === A;
    const answer = Buffer.concat([query.subarray(0, end), answered ? HERE : Buffer.alloc(0)]);
    answer.writeUInt16BE(0x8180 | ERRORS[server.mood], 2);
    // Counts of the sections: one question, the answers, no authority and no additional records.
    for (const [i, count] of [1, answered ? 1 : 0, 0, 0].entries()) answer.writeUInt16BE(count, 4 + 2 * i);
    socket.send(answer, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  server.env = {
    NAME_SERVER: `127.0.0.1:${socket.address().port}`,
    NODE_OPTIONS: `--import ${pathToFileURL('test/support/ask-name-server.js').href}`,
  };
  return server;
}
