import type { Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { seededRandom } from '../../support/random.js';
import { closeAll, identity, issuer, loopback, outgoing, receiver, sender } from '../../support/sender.js';

afterEach(closeAll);

const BODY_MS = 20;
const HEADS = [
  'HTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n',
  'HTTP/1.0 500 Oh\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n',
  'HTTP/1.1 204 No Content\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-',
  'garbage\r\n\r\n',
  '',
];
const ENDS: ((socket: Socket) => unknown)[] = [
  (socket) => socket.end(),
  (socket) => socket.end('0\r\n\r\n'),
  (socket) => socket.destroy(),
  (socket) => socket.write('hello'),
  () => {},
];

test('any response that ends in any way, at any moment, is an outcome, and the sender closes', async () => {
  const random = seededRandom('any response');
  const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)] as T;
  const answer = (socket: Socket) => {
    socket.write(pick(HEADS) + 'x'.repeat(pick([0, 0, 5, 100_000])));
    // Around the moment at which the sender cuts the response.
    setTimeout(() => socket.destroyed || pick(ENDS)(socket), pick([0, 5, 18, 19, 20, 20, 21, 22, 40]));
  };
  const receivers = [await receiver(answer), await receiver(answer, { tls: identity('receiver') })];
  for (let round = 0; round < 10; round++) {
    const limits = { bodyMs: BODY_MS, responseMs: pick([1, 2, 3]) * BODY_MS };
    const { send, close } = sender(limits, { resolver: loopback, caCertificates: issuer });
    const urls = Array.from({ length: 30 }, () => pick(receivers).url.replace('127.0.0.1', 'receiver.test'));
    const outcomes = await Promise.all(urls.map((url) => send(outgoing(url))));
    for (const { error, responseStatus } of outcomes)
      expect(error === null).toBe(responseStatus !== null && responseStatus < 300);
    await close();
  }
});
