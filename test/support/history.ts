import type { TransferStatus } from '../../src/platform/database/generated/enums.js';
import type { TestApi, TestClient } from './api.js';
import { endpointRequest, transferRequest } from './transfers.js';

export interface History {
  transferId: string;
  webhookId: string;
  eventId: string;
  deliveryId: string;
}

/**
 * Makes a transfer that is SENT after two events, each with one delivery. The first delivery has a failed attempt and a
 * successful one.
 */
export async function deliverTo(api: TestApi, client: TestClient): Promise<History> {
  const { webhookId } = await answered(client.call('POST', '/webhook-endpoints', { json: endpointRequest() }));
  const { id: transferId } = await answered(client.call('POST', '/transfers', { json: transferRequest() }));
  await move(client, transferId, 'PROCESSING');
  await move(client, transferId, 'SENT');
  const { prisma } = api.database;
  const delivery = await prisma.delivery.findFirstOrThrow({ where: { endpointId: webhookId }, orderBy: { id: 'asc' } });
  const attempt = {
    deliveryId: delivery.id,
    trigger: 'schedule',
    url: 'https://example.com/hooks',
    t: '2026-11-21T10:00:00.123Z',
    startedAt: new Date(),
    durationMs: 12,
  };
  await prisma.attempt.create({
    data: { ...attempt, number: 1, responseStatus: 500, responseBody: 'no', error: 'status' },
  });
  await prisma.attempt.create({ data: { ...attempt, number: 2, responseStatus: 204 } });
  await prisma.queuedAttempt.deleteMany({ where: { deliveryId: delivery.id } });
  await prisma.delivery.update({
    where: { id: delivery.id },
    data: { status: 'succeeded', attemptCount: 2, nextAttemptAt: null, finishedAt: new Date() },
  });
  return { transferId, webhookId, eventId: delivery.eventId, deliveryId: delivery.id };
}

/** Makes `count` transfers that are PROCESSING, each with an event. */
export async function moveMany(client: TestClient, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const { id } = await answered(client.call('POST', '/transfers', { json: transferRequest() }));
    await move(client, id, 'PROCESSING');
    ids.push(id);
  }
  return ids;
}

export async function move(client: TestClient, id: string, status: TransferStatus): Promise<void> {
  await answered(client.call('POST', `/sandbox/transfers/${id}/status`, { json: { status } }));
}

async function answered(call: ReturnType<TestClient['call']>) {
  const { status, body, text } = await call;
  if (status >= 300) throw new Error(`${status}: ${text}`);
  return body;
}
