import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** The first bytes of a client that wants TLS: a length of 8, and the number of the request. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

export interface TlsPostgres {
  port: number;
  close(): void;
}

/**
 * Speaks TLS in front of a Postgres that speaks plaintext on loopback, in the way of Postgres: it accepts an SSLRequest
 * and rejects a client that does not send one.
 * @param server the port of Postgres
 * @param keys PEM
 */
export async function startTlsPostgres(server: number, keys: { cert: string; key: string }): Promise<TlsPostgres> {
  const open = new Set<Socket>();
  const keep = <S extends Socket>(socket: S): S => {
    open.add(socket);
    return socket.on('error', () => undefined);
  };
  const proxy = createServer((socket) => {
    keep(socket).once('data', (first) => {
      if (!first.equals(SSL_REQUEST)) return socket.destroy();
      socket.write('S');
      const secure = keep(new TLSSocket(socket, { isServer: true, ...keys }));
      const behind = keep(connect(server, '127.0.0.1'));
      secure.on('close', () => behind.destroy());
      behind.on('close', () => secure.destroy());
      return secure.pipe(behind).pipe(secure);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    close() {
      proxy.close();
      for (const socket of open) socket.destroy();
    },
  };
}
