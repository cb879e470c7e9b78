import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { readState } from '../../src/local/stack-state.js';
import type { DeliveryProgress } from '../../workflows/deliver-event.input.js';
import { must } from '../support/caller.js';
import { readDelivered } from '../support/delivered.js';
import { makeLocalDir } from '../support/local-dir.js';
import { startRawReceiver } from '../support/raw-receiver.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

interface Delivery {
  id: string;
  status: string;
  attempt_count: number;
  next_attempt_at: string | null;
  attempts: { number: number; trigger: string; response_status: number; started_at: string }[];
}

/** Stops a process and its children, like a disk that hangs. @returns a function that lets them continue */
function freeze(pid: number): () => void {
  process.kill(pid, 'SIGSTOP');
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  const frozen = [pid, ...children.map(Number)];
  for (const one of frozen) process.kill(one, 'SIGSTOP');
  return () => {
    for (const one of frozen) process.kill(one, 'SIGCONT');
  };
}

/** Lets a sleeping delivery be overdue for long enough that the watchdog queues it. */
async function oversleep({ sandbox }: ServiceProcess, id: string): Promise<void> {
  const client = new pg.Client({ connectionString: sandbox.database_url });
  await client.connect();
  const { rowCount } = await client
    .query(`update deliveries set next_attempt_at = now() - interval '3 minutes' where id = $1 and asleep`, [id])
    .finally(() => client.end());
  expect(rowCount).toBe(1);
}

// Temporal's process is stopped after attempt 2: connections to it stay open, and nothing comes back.
test('while Temporal hangs, every attempt of the ladder, a manual retry and fresh events are made, and none twice', async () => {
  const localDir = makeLocalDir();
  /** Transfers whose events the receiver rejects. */
  const rejected = new Set<string>();
  const receiver = await startRawReceiver((socket, number) => {
    const { transferId } = readDelivered(receiver.requests[number - 1] ?? '', SECRET);
    socket.write(`HTTP/1.1 ${rejected.has(transferId) ? 503 : 204} x\r\ncontent-length: 0\r\n\r\n`);
  });
  const service = await startService(localDir.path, { DELIVERY_RETRY_DELAYS: '0s,1h,1h,1h,1h,1h' });
  let thaw = () => {};
  const { client } = service;
  const { temporal_address: address, temporal_namespace: namespace } = service.sandbox;
  const connection = await Connection.connect({ address });
  const temporal = new Client({ connection, namespace });

  /** Makes an event. */
  const change = async (accepts: boolean) => {
    const { id: transferId } = await must(client('POST', '/transfers', transferRequest()));
    if (!accepts) rejected.add(transferId);
    await must(client('POST', `/sandbox/transfers/${transferId}/status`, { status: 'PROCESSING' }));
    const [event] = (await must(client('GET', `/events?transfer_id=${transferId}`))).data;
    const [{ id }] = (await must(client('GET', `/events/${event.id}/deliveries`))).data;
    return { eventId: event.id as string, transferId: transferId as string, id: id as string };
  };
  const read = (id: string): Promise<Delivery> => must(client('GET', `/deliveries/${id}`));
  const afterAttempt = (id: string, count: number) =>
    waitFor(`attempt ${count}`, async () => {
      const delivery = await read(id);
      return delivery.attempt_count >= count && delivery;
    });
  const untilSucceeded = (id: string) => waitFor('the event', async () => (await read(id)).status === 'succeeded');
  const arrivals = (transferId: string) =>
    receiver.requests.filter((raw) => readDelivered(raw, SECRET).transferId === transferId).length;
  const accepted = async (path: string, body?: object) => {
    const before = performance.now();
    const { status, body: answer } = await client('POST', path, body);
    expect(status).toBe(202);
    expect(performance.now() - before).toBeLessThan(5_000);
    return answer;
  };

  try {
    const endpoint = await must(client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
    const since = new Date(Date.now() - 60_000).toISOString();
    const { eventId, transferId, id } = await change(false);
    await afterAttempt(id, 2);
    const progress = () => temporal.workflow.getHandle(eventId).query<DeliveryProgress[]>('progress');
    await waitFor('its workflow', () => progress().catch(() => undefined));
    thaw = freeze(readState(localDir.path)!.temporal!.pid);

    await oversleep(service, id);
    const third = await afterAttempt(id, 3);
    await accepted(`/deliveries/${id}/retry`);
    const fourth = await afterAttempt(id, 4);
    expect(fourth.next_attempt_at).toBe(third.next_attempt_at);
    const fresh = await change(true);
    await untilSucceeded(fresh.id);

    for (const count of [5, 6, 7, 8]) {
      await oversleep(service, id);
      await afterAttempt(id, count);
    }
    const exhausted = await read(id);
    const triggers = Array.from({ length: 8 }, (_, i) => (i === 3 ? 'manual' : 'schedule'));
    const made = exhausted.attempts.map(({ number, trigger, response_status }) => [number, trigger, response_status]);
    expect(made).toEqual(triggers.map((trigger, i) => [i + 1, trigger, 503]));
    expect([exhausted.status, arrivals(transferId), arrivals(fresh.transferId)]).toEqual(['failed', 8, 1]);

    rejected.clear();
    expect(await accepted(`/webhook-endpoints/${endpoint.webhookId}/recover`, { since })).toMatchObject({ count: 1 });
    await untilSucceeded((await change(true)).id);
    expect((await read(id)).status).toBe('failed');

    thaw();
    await untilSucceeded(id);
    for (const [event, attemptCount] of [
      [eventId, 9],
      [fresh.eventId, 1],
    ] as const) {
      const handle = temporal.workflow.getHandle(event);
      await waitFor('the workflow to be completed', async () => {
        const found = await handle.describe().catch(() => undefined);
        return found?.status.name === 'COMPLETED';
      });
      expect(await handle.result()).toMatchObject([{ status: 'succeeded', attemptCount, lastOutcome: '204' }]);
    }
    expect([arrivals(transferId), arrivals(fresh.transferId)]).toEqual([9, 1]);
  } finally {
    thaw();
    await connection.close();
    await service.stop();
    await receiver.close();
    await localDir.remove();
  }
});
