import { connect, type Socket } from 'node:net';
import { HttpMessages } from './http-messages.js';

interface HttpConnection {
  /** Sends one request at a time. Resolves with the status of the complete response; 0: no response. */
  ask(request: string): Promise<number>;
  close(): void;
}

/** A persistent connection. If the server has closed it, the next request opens another. */
export function openConnection(host: string, port: number): HttpConnection {
  let socket: Socket | undefined;
  let answered: (status: number) => void = () => undefined;

  const open = (): Socket => {
    const opened = connect({ host, port, noDelay: true });
    const messages = new HttpMessages((head) => answered(statusOf(head)));
    opened.on('data', (chunk) => messages.feed(chunk));
    opened.on('error', () => opened.destroy());
    opened.on('close', () => {
      if (socket === opened) socket = undefined;
      answered(0);
    });
    return opened;
  };

  return {
    ask: (request) =>
      new Promise((resolve) => {
        answered = resolve;
        socket ??= open();
        socket.write(request);
      }),
    close: () => socket?.destroy(),
  };
}

const statusOf = (head: string) => Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
