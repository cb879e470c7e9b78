import { describe, expect, it } from '@jest/globals';
import { readStarts, workflowOf } from '../../src/delivery/workflow-starter.js';
import { WebhookIds } from '../../workflows/search-attributes.js';
import { makeOne } from '../support/attempt.js';
import { type CommittedEvent, commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { outcome, refusedBy } from '../support/factories.js';

const db = await openTestDatabase();

const rowOf = async ({ eventId }: CommittedEvent) => {
  const { id, ...row } = await db.prisma.event.findUniqueOrThrow({ where: { id: eventId } });
  return { eventId: id, ...row };
};
const startOf = async (event: CommittedEvent) => (await readStarts(db, [await rowOf(event)]))[0]!;

describe('what the workflow of an event starts with', () => {
  it('is the row of every delivery, as ids, host and description, and nothing else', async () => {
    const event = await commitEvent(db, {
      endpoints: 3,
      retryDelays: [60_000],
      url: 'https://hooks.example.com:8443/in?a=1',
    });
    const ids = event.deliveries.map(({ deliveryId }) => deliveryId).sort();
    const webhookIds = ids.map((id) => event.deliveries.find(({ deliveryId }) => deliveryId === id)!.endpointId);
    await makeOne(db, ids[0]!, refusedBy(503));
    await makeOne(db, ids[1]!, outcome());
    const { input } = await startOf(event);
    const nextAttemptAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const each = { host: 'hooks.example.com:8443', description: null, reason: null };
    const asleep = { status: 'pending', attemptCount: 1, lastOutcome: '503', nextAttemptAt, wait: expect.any(Number) };
    const delivered = { status: 'succeeded', attemptCount: 1, lastOutcome: '204', nextAttemptAt: null, wait: null };
    const queued = { status: 'pending', attemptCount: 0, lastOutcome: null, nextAttemptAt, wait: 0 };
    expect(input).toEqual({
      ...{ eventId: event.eventId, clientId: event.clientId, title: 'transfer.status_changed PROCESSING' },
      deliveries: [asleep, delivered, queued].map((row, i) => ({
        ...{ deliveryId: ids[i], webhookId: webhookIds[i], ...each, ...row },
      })),
    });
    const wait = input.deliveries[0]!.wait!;
    expect(wait > 55_000 && wait <= 60_000).toBe(true);
  });

  // Temporal refused the workflows of events for 53 endpoints, so that their retries came by the watchdog.
  it('regression: has search attributes that Temporal accepts, however many endpoints the event has', async () => {
    const start = await startOf(await commitEvent(db, { endpoints: 60 }));
    const found = workflowOf(start).typedSearchAttributes.find(({ key }) => key === WebhookIds)?.value;
    expect(found).toEqual(start.input.deliveries.slice(0, 50).map(({ webhookId }) => webhookId));
    expect(JSON.stringify(found).length).toBeLessThanOrEqual(2_048);
  });

  it("has the client as its fairness key, and attributes for operators' searches", async () => {
    const event = await commitEvent(db, { endpoints: 2 });
    const { eventId, clientId } = event;
    const start = await startOf(event);
    const { typedSearchAttributes, ...workflow } = workflowOf(start);
    const taskQueue = 'webhook-deliveries';
    expect(workflow).toMatchObject({ workflowId: eventId, taskQueue, priority: { fairnessKey: clientId } });
    expect(workflow.staticSummary).toBe('transfer.status_changed PROCESSING → 2 endpoints');
    expect(Object.fromEntries(typedSearchAttributes.map(({ key, value }) => [key.name, value]))).toEqual({
      ClientId: clientId,
      TransferId: (await rowOf(event)).transferId,
      EventType: 'transfer.status_changed',
      WebhookIds: start.input.deliveries.map(({ webhookId }) => webhookId),
      DeliveryState: 'retrying',
    });
  });

  it('names the one endpoint by its description, and never by its URL', async () => {
    const event = await commitEvent(db, { url: 'https://hooks.example.com/T0/token' });
    const { endpointId: id } = event.deliveries[0]!;
    const summaryOf = async (description: string) => {
      await db.prisma.endpoint.update({ where: { id }, data: { description } });
      return workflowOf(await startOf(event)).staticSummary.split(' → ')[1];
    };
    const at = `hooks.example.com`;
    const end = `…${id.slice(-8)}`;
    expect(await summaryOf('Orders, EU')).toBe(`Orders, EU (${at}) ${end}`);
    expect(await summaryOf('https://hooks.example.com/T0/token')).toBe(`${at} ${end}`);
    expect(await summaryOf('as hooks.example.com/T0')).toBe(`${at} ${end}`);
    expect(await summaryOf(`key ${'0'.repeat(32)}`)).toBe(`${at} ${end}`);
    expect(await summaryOf('a | b\n[x](y) ![z]')).toBe(`a b x (y) ! z (${at}) ${end}`);
    expect(await summaryOf('\u202e \n')).toBe(`${at} ${end}`);
    expect(await summaryOf('ä '.repeat(100))).toBe(`${'ä '.repeat(16)}… (${at}) ${end}`);
  });
});
