import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

export interface RawReceiver {
  url: string;
  port: number;
  /** The raw bytes of each request, in Latin-1. */
  requests: string[];
  /** Number of connections so far. */
  connections(): number;
  close(): Promise<void>;
}

export interface RawReceiverOptions {
  host?: string;
  port?: number;
  tls?: TlsOptions;
  /** Called with each connection before its first request, after the TLS handshake. */
  onConnection?: (socket: Socket) => void;
}

/** Handles the request number `number` (from 1) that arrived on `socket`. */
export type Answering = (socket: Socket, number: number) => void;

/** Starts a receiver that writes given bytes in response to each request, whether they are HTTP or not. */
export async function startRawReceiver(
  answering: Answering | string,
  { host = '127.0.0.1', port: wanted = 0, tls, onConnection }: RawReceiverOptions = {},
): Promise<RawReceiver> {
  const answer: Answering = typeof answering === 'string' ? (socket) => socket.write(answering) : answering;
  const requests: string[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  const serve = (socket: Socket) => {
    let text = '';
    socket.on('error', () => {});
    onConnection?.(socket);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      for (let end = endOfRequest(text); end !== undefined; end = endOfRequest(text)) {
        requests.push(text.slice(0, end));
        text = text.slice(end);
        answer(socket, requests.length);
      }
    });
  };
  const server: Server = tls ? createTlsServer(tls, serve) : createServer(serve);
  server.on('connection', (socket: Socket) => {
    connections++;
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(wanted, host, resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    requests,
    connections: () => connections,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function endOfRequest(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const length = Number(/^content-length: (\d+)\r$/im.exec(text.slice(0, head + 2))?.[1] ?? 0);
  const end = head + 4 + length;
  return text.length >= end ? end : undefined;
}
