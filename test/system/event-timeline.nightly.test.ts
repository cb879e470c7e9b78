import type { Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { must } from '../support/caller.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { killPart, type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The attempts, responses and next attempt of a delivery, read and changed over HTTP alone, with the ladder of the
// spec.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const localDir = makeLocalDir();
let service: ServiceProcess;
let receiver: RawReceiver;
/** Down: the receiver closes each connection. Hanging: it sends nothing until it is down or up. */
let state: 'up' | 'down' | 'hanging';
const hanging: Socket[] = [];

beforeAll(async () => {
  receiver = await startRawReceiver((socket) => {
    if (state === 'hanging') hanging.push(socket);
    else respond(socket);
  });
  service = await startService(localDir.path);
});
beforeEach(() => become('down'));
afterAll(async () => {
  await receiver?.close();
  await service?.stop();
  await localDir.remove();
});

const respond = (socket: Socket) => (state === 'up' ? socket.write('HTTP/1.1 204 x\r\n\r\n') : socket.destroy());
function become(next: typeof state): void {
  state = next;
  if (state !== 'hanging') for (const socket of hanging.splice(0)) respond(socket);
}

interface Attempt {
  number: number;
  trigger: string;
  started_at: string;
  duration_ms: number;
  response_status: number | null;
  error: string | null;
}
interface Delivery {
  id: string;
  event_id: string;
  webhookId: string;
  status: string;
  attempt_count: number;
  next_attempt_at: string | null;
  finished_at: string | null;
  attempts: Attempt[];
  planned_attempts: { number: number; at: string }[];
}

const read = (id: string): Promise<Delivery> => must(service.client('GET', `/deliveries/${id}`));
const retry = (id: string) => service.client('POST', `/deliveries/${id}/retry`);
const afterAttempt = (id: string, count: number) =>
  waitFor(`attempt ${count}`, async () => {
    const delivery = await read(id);
    return delivery.attempt_count === count && delivery;
  });
const shown = ({ attempts }: Delivery) =>
  attempts.map(({ number, trigger, response_status, error }) => [number, trigger, response_status ?? error]);

/** Makes an event whose delivery has failed twice and sleeps before the 5-minute rung. */
async function fallAsleep(): Promise<string> {
  const { client } = service;
  for (const { webhookId } of (await must(client('GET', '/webhook-endpoints'))).data) {
    await must(client('DELETE', `/webhook-endpoints/${webhookId}`));
  }
  await must(client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
  const { id: transferId } = await must(client('POST', '/transfers', transferRequest()));
  await must(client('POST', `/sandbox/transfers/${transferId}/status`, { status: 'PROCESSING' }));
  const [event] = (await must(client('GET', `/events?transfer_id=${transferId}`))).data;
  const [{ id }] = (await must(client('GET', `/events/${event.id}/deliveries`))).data;
  const asleep = await afterAttempt(id, 2);
  expect(shown(asleep)).toEqual([
    [1, 'schedule', 'reset'],
    [2, 'schedule', 'reset'],
  ]);
  expectPlanned(asleep, 5 * MINUTE);
  return id;
}

/** Expects the next attempt one rung after the record of the last, which is made between its end and the read. */
function expectPlanned(delivery: Delivery, rung: number, readAt = Date.now()): void {
  const last = delivery.attempts.at(-1)!;
  expect([delivery.status, delivery.finished_at]).toEqual(['pending', null]);
  const recordedAt = Date.parse(delivery.next_attempt_at ?? '') - rung;
  // Both times are cut to whole milliseconds.
  expect(recordedAt).toBeGreaterThanOrEqual(Date.parse(last.started_at) + last.duration_ms - 2);
  expect(recordedAt).toBeLessThanOrEqual(readAt + 1);
}

/**
 * Expects the attempts that are left at the times at which they were planned. They move up by one number for each
 * retry.
 */
function expectSamePlan(delivery: Delivery, before: Delivery): void {
  expect([delivery.status, delivery.finished_at]).toEqual(['pending', null]);
  expect(delivery.next_attempt_at).toBe(before.next_attempt_at);
  const retries = delivery.attempt_count - before.attempt_count;
  const moved = before.planned_attempts.map(({ number, at }) => ({ number: number + retries, at }));
  expect(delivery.planned_attempts).toEqual(moved);
}

/** Retries a sleeping delivery. The failure leaves its plan unchanged. */
async function failRetry(before: Delivery): Promise<Delivery> {
  const number = before.attempt_count + 1;
  await waitFor('the retry to be accepted', async () => (await retry(before.id)).status === 202);
  const delivery = await afterAttempt(before.id, number);
  expect(shown(delivery).at(-1)).toEqual([number, 'manual', 'reset']);
  expectSamePlan(delivery, before);
  return delivery;
}

async function succeedRetry(id: string): Promise<Delivery> {
  become('up');
  expect((await retry(id)).status).toBe(202);
  const delivered = await waitFor('the success', async () => {
    const delivery = await read(id);
    return delivery.status === 'succeeded' && delivery;
  });
  expect(delivered).toMatchObject({ next_attempt_at: null, finished_at: expect.any(String) });
  const event = await must(service.client('GET', `/events/${delivered.event_id}`));
  expect(event.deliveries).toEqual({ pending: 0, succeeded: 1, failed: 0, cancelled: 0 });
  return delivered;
}

test('a delivery sleeps on the right rung while its receiver is down, a failed retry leaves its plan, and a later one succeeds', async () => {
  const id = await fallAsleep();
  const asleep = await read(id);

  become('hanging');
  const before = receiver.requests.length;
  const [one, other] = await Promise.all([retry(id), retry(id)]);
  expect([one.status, other.status]).toEqual([202, 202]);
  await waitFor('the attempt to be in flight', () => receiver.requests.length > before);
  expectSamePlan(await read(id), asleep);
  expect((await retry(id)).status).toBe(202);
  become('down');
  expectSamePlan(await afterAttempt(id, 3), asleep);

  expect(shown(await succeedRetry(id))).toEqual([
    [1, 'schedule', 'reset'],
    [2, 'schedule', 'reset'],
    [3, 'manual', 'reset'],
    [4, 'manual', 204],
  ]);
  expect(receiver.requests.length).toBe(before + 2);
});

test('keeps its plan when every process is killed while it sleeps', async () => {
  const id = await fallAsleep();
  const asleep = await failRetry(await read(id));

  await service.kill();
  killPart(localDir.path, 'temporal');
  killPart(localDir.path, 'postgres');
  service = await startService(localDir.path);
  expect(await read(id)).toEqual(asleep);
  await failRetry(asleep);

  const delivered = await succeedRetry(id);
  expect(delivered.attempts.slice(0, 3)).toEqual(asleep.attempts);
  expect(shown(delivered).slice(3)).toEqual([
    [4, 'manual', 'reset'],
    [5, 'manual', 204],
  ]);
});

test('begins the ladder again after a cancel and a recovery, and continues the attempt numbers', async () => {
  const id = await fallAsleep();
  const { webhookId } = await read(id);
  const enable = (enabled: boolean) =>
    must(service.client('PUT', `/webhook-endpoints/${webhookId}`, { url: receiver.url, enabled }));
  await enable(false);
  expect(await read(id)).toMatchObject({ status: 'cancelled', reason: 'endpoint_disabled', next_attempt_at: null });
  expect(await retry(id)).toMatchObject({ status: 409, body: { code: 'endpoint_not_active' } });

  await enable(true);
  const since = new Date(Date.now() - HOUR).toISOString();
  expect(await must(service.client('POST', `/webhook-endpoints/${webhookId}/recover`, { since }))).toMatchObject({
    id: expect.any(String),
    count: 1,
    missing: 0,
  });
  const asleep = await afterAttempt(id, 4);
  expectPlanned(asleep, 5 * MINUTE);

  expect(shown(await succeedRetry(id)).slice(2)).toEqual([
    [3, 'recover', 'reset'],
    [4, 'recover', 'reset'],
    [5, 'manual', 204],
  ]);
});
