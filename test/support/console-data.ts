import { eventBody } from '../../src/delivery/event-catalogue.js';
import { newId } from '../../src/platform/ids.js';
import type { TestDatabase } from './database.js';
import { makeEndpoint } from './factories.js';

export interface DeliveryData {
  /** The outcomes of its attempts, oldest first: a status, or an attempt error. */
  outcomes?: readonly (number | string)[];
  status?: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  reason?: string;
  nextAttemptAt?: Date;
  responseBody?: string;
  responseHeaders?: Record<string, string>;
  detail?: string;
  endpointId?: string;
  url?: string;
}

/** Makes an event of a client with one delivery, as the service leaves them behind. */
export async function makeTimeline(db: TestDatabase, clientId: string, data: DeliveryData = {}) {
  const { outcomes = [503, 503], status = 'pending', url } = data;
  const transferId = newId();
  const eventId = newId();
  const createdAt = new Date();
  const body = eventBody({
    id: eventId,
    type: 'transfer.status_changed',
    data: { id: transferId, status: 'SENT' },
    createdAt: createdAt.getTime(),
  });
  await db.prisma.event.create({
    data: { id: eventId, clientId, transferId, type: 'transfer.status_changed', body, createdAt },
  });
  const endpointId = data.endpointId ?? (await makeEndpoint(db, clientId, url === undefined ? {} : { url })).id;
  const deliveryId = newId();
  const isPending = status === 'pending';
  const next = data.nextAttemptAt ?? new Date(Date.now() + 240_000);
  await db.prisma.delivery.create({
    data: {
      id: deliveryId,
      eventId,
      endpointId,
      clientId,
      status,
      reason: data.reason ?? null,
      attemptCount: outcomes.length,
      ladder: '0s,5m,30m,2h,6h,1d',
      rung: outcomes.length,
      asleep: isPending,
      nextAttemptAt: isPending ? next : null,
      finishedAt: isPending ? null : createdAt,
    },
  });
  await db.prisma.attempt.createMany({
    data: outcomes.map((outcome, index) => ({
      deliveryId,
      number: index + 1,
      trigger: 'schedule',
      url: url ?? 'https://hooks.example.com/in',
      t: createdAt.toISOString(),
      startedAt: createdAt,
      durationMs: 12,
      responseStatus: typeof outcome === 'number' ? outcome : null,
      error: typeof outcome === 'string' ? outcome : outcome < 300 ? null : 'status',
      responseBody: data.responseBody ?? null,
      responseHeaders: data.responseHeaders ?? {},
      detail: data.detail ?? null,
    })),
  });
  return { eventId, deliveryId, endpointId, transferId, body };
}
