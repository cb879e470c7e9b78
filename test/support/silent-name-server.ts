import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';

/** Starts a name server that never responds. `env` makes a process of the service use it. */
export async function startSilentNameServer() {
  const socket = createSocket('udp4');
  let asked = 0;
  socket.on('message', () => asked++);
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    asked: () => asked,
    env: {
      NAME_SERVER: `127.0.0.1:${socket.address().port}`,
      NODE_OPTIONS: `--import ${pathToFileURL('test/support/ask-name-server.js').href}`,
    },
    close: () => socket.close(),
  };
}
