import type { Socket } from 'node:net';
import { jest } from '@jest/globals';
import { createAddressGuard } from '../../../src/delivery/sender/address-guard.js';
import type { LookUp } from '../../../src/delivery/sender/resolver.js';
import { createSender, type SendOutcome } from '../../../src/delivery/sender/send.js';
import { Secret } from '../../../src/platform/secret.js';
import { startRawReceiver } from '../../support/raw-receiver.js';

// The limits of an attempt, tested on real sockets with a clock that the test advances.
beforeEach(() =>
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] }),
);
afterEach(() => jest.useRealTimers());

const realTimeout = globalThis.setTimeout;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const settle = () => new Promise((resolve) => realTimeout(resolve, 100));

/** Sends a delivery to a receiver that writes `response`. The outcome is undefined while the attempt runs. */
async function begin(response: string, lookUp?: LookUp) {
  let asked: Socket | undefined;
  const receiver = await startRawReceiver((socket) => {
    asked = socket;
    socket.write(response);
  });
  const sender = createSender({
    guard: createAddressGuard({ allowPrivate: true, blocked: [] }),
    ...(lookUp && { resolver: { lookUp } }),
  });
  let outcome: SendOutcome | undefined;
  const url = lookUp ? 'http://receiver.test/' : receiver.url;
  const sent = sender
    .send({ url, body: '{}', secret: new Secret('s'.repeat(16)), clientId: 'client' })
    .then((value) => {
      outcome = value;
    });
  while (!lookUp && !asked) await turn();
  return {
    outcome: () => outcome,
    async after(ms: number) {
      // The bytes that the receiver wrote arrive before the clock advances.
      await settle();
      jest.advanceTimersByTime(ms);
      await settle();
      return outcome;
    },
    async end() {
      await receiver.close();
      await sent;
      await sender.close();
    },
  };
}

test('a response must begin within 15 s', async () => {
  const attempt = await begin('');
  expect(await attempt.after(14_999)).toBeUndefined();
  expect(await attempt.after(1)).toMatchObject({ error: 'timeout' });
  await attempt.end();
});

test('a connection must be open within 5 s, its look-up included', async () => {
  const attempt = await begin('', () => new Promise(() => {}));
  expect(await attempt.after(4_999)).toBeUndefined();
  expect(await attempt.after(1)).toMatchObject({ error: 'dns' });
  await attempt.end();
});

test('a body is read for 1 s after the head', async () => {
  const attempt = await begin('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc');
  expect(await attempt.after(999)).toBeUndefined();
  expect(await attempt.after(1)).toMatchObject({ error: null, responseBody: 'abc' });
  await attempt.end();
});
