import type { Socket } from 'node:net';
import { jest } from '@jest/globals';
import type { LookUp } from '../../../src/delivery/sender/resolver.js';
import type { SendOutcome } from '../../../src/delivery/sender/send.js';
import { closeAll, outgoing, receiver, sender, turn } from '../../support/sender.js';

// The limits of an attempt, tested on real sockets with a clock that the test advances.
beforeEach(() =>
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] }),
);
afterEach(() => {
  jest.useRealTimers();
  return closeAll();
});

const realTimeout = globalThis.setTimeout;
const settle = () => new Promise((resolve) => realTimeout(resolve, 100));

/** Sends a delivery to a receiver that writes `response`. The outcome is undefined while the attempt runs. */
async function begin(response: string, lookUp?: LookUp) {
  let asked: Socket | undefined;
  const { url } = await receiver((socket) => {
    asked = socket;
    socket.write(response);
  });
  const { send } = sender({}, lookUp && { resolver: { lookUp } });
  let outcome: SendOutcome | undefined;
  const sent = send(outgoing(lookUp ? 'http://receiver.test/' : url)).then((value) => {
    outcome = value;
  });
  while (!lookUp && !asked) await turn();
  return async (ms: number) => {
    // The bytes that the receiver wrote arrive before the clock advances.
    await settle();
    jest.advanceTimersByTime(ms);
    await settle();
    if (outcome) await sent;
    return outcome;
  };
}

test('a response must begin within 15 s', async () => {
  const after = await begin('');
  expect(await after(14_999)).toBeUndefined();
  expect(await after(1)).toMatchObject({ error: 'timeout' });
});

test('a connection must be open within 5 s, its look-up included', async () => {
  const after = await begin('', () => new Promise(() => {}));
  expect(await after(4_999)).toBeUndefined();
  expect(await after(1)).toMatchObject({ error: 'dns' });
});

test('a body is read for 1 s after the head', async () => {
  const after = await begin('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc');
  expect(await after(999)).toBeUndefined();
  expect(await after(1)).toMatchObject({ error: null, responseBody: 'abc' });
});
