import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { readState } from '../../src/local/stack-state.js';
import type { DeliveryProgress } from '../../workflows/deliver-event.input.js';
import { must } from '../support/caller.js';
import { readDelivered } from '../support/delivered.js';
import { freeze } from '../support/freeze.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// Temporal's process is stopped while a delivery sleeps. Connections to it stay open, and nothing comes back.

const localDir = makeLocalDir();
let service: ServiceProcess;
let receiver: RawReceiver;
let responseStatus = 503;
let thaw = () => {};

beforeAll(async () => {
  receiver = await startRawReceiver((socket) =>
    socket.write(`HTTP/1.1 ${responseStatus} x\r\ncontent-length: 0\r\n\r\n`),
  );
  service = await startService(localDir.path, { DELIVERY_RETRY_DELAYS: '0s,1h,1h,1h' });
  await must(service.client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
});
afterAll(async () => {
  thaw();
  await service?.stop();
  await receiver?.close();
  await localDir.remove();
});

interface Delivery {
  id: string;
  status: string;
  attempt_count: number;
  next_attempt_at: string | null;
  attempts: { number: number; trigger: string; response_status: number }[];
}

/** Makes an event. @returns its delivery */
async function change(): Promise<{ eventId: string; transferId: string; id: string }> {
  const { client } = service;
  const { id: transferId } = await must(client('POST', '/transfers', transferRequest()));
  await must(client('POST', `/sandbox/transfers/${transferId}/status`, { status: 'PROCESSING' }));
  const [event] = (await must(client('GET', `/events?transfer_id=${transferId}`))).data;
  const [{ id }] = (await must(client('GET', `/events/${event.id}/deliveries`))).data;
  return { eventId: event.id, transferId, id };
}
const read = (id: string): Promise<Delivery> => must(service.client('GET', `/deliveries/${id}`));
const afterAttempt = (id: string, count: number) =>
  waitFor(`attempt ${count}`, async () => {
    const delivery = await read(id);
    return delivery.attempt_count >= count && delivery;
  });
const shown = ({ attempts }: Delivery) =>
  attempts.map(({ number, trigger, response_status }) => [number, trigger, response_status]);
const arrivals = (transferId: string) =>
  receiver.requests.filter((raw) => readDelivered(raw, SECRET).transferId === transferId).length;

/** Lets a sleeping delivery be overdue for long enough that the watchdog queues it. */
async function oversleep(id: string): Promise<void> {
  const client = new pg.Client({ connectionString: service.sandbox.database_url });
  await client.connect();
  const { rowCount } = await client
    .query(`update deliveries set next_attempt_at = now() - interval '3 minutes' where id = $1 and asleep`, [id])
    .finally(() => client.end());
  expect(rowCount).toBe(1);
}

test('while Temporal hangs, retries go on, manual retries and fresh events are delivered, and no attempt is made twice', async () => {
  const { eventId, transferId, id } = await change();
  await afterAttempt(id, 2);
  const { temporal_address: address, temporal_namespace: namespace } = service.sandbox;
  const temporal = new Client({ connection: await Connection.connect({ address }), namespace });
  const progress = () => temporal.workflow.getHandle(eventId).query<DeliveryProgress[]>('progress');
  await waitFor('its workflow', () => progress().catch(() => undefined));
  thaw = freeze(readState(localDir.path)!.temporal!.pid);

  await oversleep(id);
  const third = await afterAttempt(id, 3);
  expect(third.status).toBe('pending');

  const before = performance.now();
  expect((await service.client('POST', `/deliveries/${id}/retry`)).status).toBe(202);
  expect(performance.now() - before).toBeLessThan(5_000);
  const fourth = await afterAttempt(id, 4);
  expect(fourth.next_attempt_at).toBe(third.next_attempt_at);

  responseStatus = 204;
  const fresh = await change();
  await waitFor('the fresh event', async () => (await read(fresh.id)).status === 'succeeded');
  await oversleep(id);
  const delivered = await afterAttempt(id, 5);
  expect(delivered.status).toBe('succeeded');
  expect(shown(delivered)).toEqual([
    [1, 'schedule', 503],
    [2, 'schedule', 503],
    [3, 'schedule', 503],
    [4, 'manual', 503],
    [5, 'schedule', 204],
  ]);

  thaw();
  for (const [event, attemptCount] of [
    [eventId, 5],
    [fresh.eventId, 1],
  ] as const) {
    const handle = temporal.workflow.getHandle(event);
    await waitFor('the workflow to be completed', async () => {
      const found = await handle.describe().catch(() => undefined);
      return found?.status.name === 'COMPLETED';
    });
    expect(await handle.result()).toMatchObject([{ status: 'succeeded', attemptCount, lastOutcome: '204' }]);
  }
  expect([arrivals(transferId), arrivals(fresh.transferId)]).toEqual([5, 1]);
  expect(await read(id)).toEqual(delivered);
  await temporal.connection.close();
});
