import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Secret } from '../../src/platform/secret.js';

export interface HaltingProxy {
  /** The URL of Postgres through the proxy. */
  url: Secret;
  /** Passes no byte on in either direction, as a Postgres that is stopped or a network that drops packets. */
  halt(): void;
  /** Passes on what has arrived meanwhile. */
  resume(): void;
  /** Stops forwarding on the present connections and never closes them. Later connections work. */
  strand(): void;
  /** Leads later connections to the database of `url`, whose name has the same length. */
  leadTo(url: Secret): void;
  readonly connections: number;
  close(): Promise<void>;
}

/** A proxy in front of the Postgres of `url`. */
export async function startHaltingProxy(url: Secret): Promise<HaltingProxy> {
  const target = new URL(url.reveal());
  const name = target.pathname.slice(1);
  let leadsTo = name;
  let connections = 0;
  const sockets = new Set<Socket>();
  let halted = false;
  const server = createServer((client) => {
    connections++;
    const server = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      // What was sent before the end is passed on too: Postgres may carry it out after the client is gone.
      from.on('data', (chunk: Buffer) => {
        const text = chunk.toString('latin1');
        to.write(text.includes(name) ? Buffer.from(text.replaceAll(name, leadsTo), 'latin1') : chunk);
      });
      from.on('end', () => to.end());
      from.on('error', () => to.end());
      from.on('close', () => sockets.delete(from));
      if (halted) from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = new URL(url.reveal());
  address.hostname = '127.0.0.1';
  address.port = String((server.address() as AddressInfo).port);
  return {
    url: new Secret(address.href),
    halt() {
      halted = true;
      for (const socket of sockets) socket.pause();
    },
    resume() {
      halted = false;
      for (const socket of sockets) socket.resume();
    },
    strand() {
      halted = false;
      for (const socket of sockets) socket.pause();
    },
    leadTo(other) {
      leadsTo = new URL(other.reveal()).pathname.slice(1);
    },
    get connections() {
      return connections;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
