import type { CommittedEvent } from '../../src/outbox/handover.js';
import { createDeliveryActions } from '../../src/workflow-starts/retry-and-recover.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { recoverNow, retryNow } from '../support/delivery-actions.js';
import { makeClient } from '../support/factories.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';

let db: TestDatabase;
let temporal: TestTemporal;
beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
}, 120_000);
afterAll(async () => {
  await temporal.close();
  await db.drop();
});

const deliveryActions = () => createDeliveryActions(() => temporal.client, [0, 300_000]);

async function sleeping(data: object = {}): Promise<CommittedEvent & { deliveryId: string }> {
  const event = await commitEvent(db);
  const nextAttemptAt = new Date(Date.now() + 300_000);
  const rest = { attemptCount: 2, nextAttemptAt, attemptingUntil: null, ...data };
  await db.prisma.delivery.updateMany({ where: { eventId: event.eventId }, data: rest });
  return { ...event, deliveryId: event.deliveries[0]!.deliveryId };
}

async function signals(workflowId: string): Promise<unknown[]> {
  const { events } = await temporal.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
    signal ? [JSON.parse(Buffer.from(signal.input!.payloads![0]!.data!).toString())] : [],
  );
}

describe('retry', () => {
  it('wakes a sleeping delivery for its next attempt, and starts its workflow if it has not started yet', async () => {
    const { clientId, eventId, deliveryId } = await sleeping();
    await retryNow(db, deliveryActions(), clientId, deliveryId);
    await retryNow(db, deliveryActions(), clientId, deliveryId);
    expect(await signals(eventId)).toEqual([
      { deliveryId, number: 3 },
      { deliveryId, number: 3 },
    ]);
  });

  it('makes the attempt due now, also while no worker runs', async () => {
    const { clientId, deliveryId } = await sleeping();
    const nextAttemptAt = async () =>
      (await db.prisma.delivery.findUniqueOrThrow({ where: { id: deliveryId } })).nextAttemptAt?.getTime();
    expect(await nextAttemptAt()).toBeGreaterThan(Date.now());
    await retryNow(db, deliveryActions(), clientId, deliveryId);
    expect(await nextAttemptAt()).toBeLessThanOrEqual(Date.now());
  });

  it('starts one workflow for one attempt at a delivery that has ended when several requests arrive at once', async () => {
    const { clientId, deliveryId } = await sleeping({ status: 'failed', attemptCount: 7, nextAttemptAt: null });
    await Promise.all([1, 2, 3].map(() => retryNow(db, deliveryActions(), clientId, deliveryId)));
    const description = await temporal.client.workflow.getHandle(`retry-${deliveryId}-8`).describe();
    expect(description).toMatchObject({ type: 'retryDelivery', status: { name: 'RUNNING' } });
  });

  it('starts the workflow again when it ended without its attempt', async () => {
    const { clientId, deliveryId } = await sleeping({ status: 'failed', attemptCount: 7, nextAttemptAt: null });
    await retryNow(db, deliveryActions(), clientId, deliveryId);
    const handle = temporal.client.workflow.getHandle(`retry-${deliveryId}-8`);
    await handle.terminate('the endpoint was disabled just then');
    await retryNow(db, deliveryActions(), clientId, deliveryId);
    expect(await handle.describe()).toMatchObject({ status: { name: 'RUNNING' } });
  });

  it('wakes a recovered delivery in the workflow that owns it, also when that workflow was lost', async () => {
    const { clientId, eventId, deliveryId } = await sleeping({ ladderStart: 1 });
    const owner = `recover-${deliveryId}-1`;
    await db.prisma.delivery.update({ where: { id: deliveryId }, data: { owner } });
    await retryNow(db, deliveryActions(), clientId, deliveryId);
    expect(await signals(owner)).toEqual([{ deliveryId, number: 3 }]);
    await expect(temporal.client.workflow.getHandle(eventId).describe()).rejects.toThrow(/not found/i);
  });

  it('starts and signals nothing while an attempt is in flight', async () => {
    const { clientId, eventId, deliveryId } = await sleeping({ attemptingUntil: new Date(Date.now() + 30_000) });
    await retryNow(db, deliveryActions(), clientId, deliveryId);
    await expect(temporal.client.workflow.getHandle(eventId).describe()).rejects.toThrow(/not found/i);
  });

  it('starts nothing while the lane makes the first attempt, under the lease of the event', async () => {
    const { clientId, eventId, deliveries } = await commitEvent(db);
    await retryNow(db, deliveryActions(), clientId, deliveries[0]!.deliveryId);
    await expect(temporal.client.workflow.getHandle(eventId).describe()).rejects.toThrow(/not found/i);
  });

  it('makes an attempt of a delivery that ended before its first, while a worker leases its event for another', async () => {
    const { clientId, deliveries } = await commitEvent(db, { endpoints: 2 });
    const [{ deliveryId }] = deliveries as [CommittedEvent['deliveries'][0]];
    await db.prisma.delivery.update({ where: { id: deliveryId }, data: { status: 'cancelled', nextAttemptAt: null } });
    await retryNow(db, deliveryActions(), clientId, deliveryId);
    const description = await temporal.client.workflow.getHandle(`retry-${deliveryId}-1`).describe();
    expect(description).toMatchObject({ type: 'retryDelivery', status: { name: 'RUNNING' } });
  });

  it.each([
    ['disabled', { enabled: false }],
    ['deleted', { deletedAt: new Date() }],
  ])('is refused when the endpoint is %s', async (_, data) => {
    const { clientId, deliveryId, deliveries } = await sleeping();
    await db.prisma.endpoint.update({ where: { id: deliveries[0]!.endpointId }, data });
    await expect(retryNow(db, deliveryActions(), clientId, deliveryId)).rejects.toMatchObject({
      code: 'endpoint_not_active',
    });
  });

  it("does not find another client's delivery", async () => {
    const { deliveryId } = await sleeping();
    await expect(retryNow(db, deliveryActions(), await makeClient(db), deliveryId)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('is refused as unavailable while Temporal is away', async () => {
    const { clientId, deliveryId } = await sleeping();
    const away = createDeliveryActions(() => undefined, [0]);
    await expect(retryNow(db, away, clientId, deliveryId)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('recover', () => {
  const range = { since: 0, until: Date.now() + 60_000 };

  it('returns the number of deliveries, and one recover at a time runs for each endpoint', async () => {
    const { clientId, deliveries } = await sleeping({ status: 'failed', attemptCount: 7, nextAttemptAt: null });
    const { endpointId } = deliveries[0]!;
    expect(await recoverNow(db, deliveryActions(), clientId, endpointId, range)).toEqual({ count: 1, missing: 0 });
    const again = recoverNow(db, deliveryActions(), clientId, endpointId, range);
    await expect(again).rejects.toMatchObject({ code: 'recover_in_progress' });
    const handle = temporal.client.workflow.getHandle(`recover-${endpointId}`);
    expect(await (await handle.describe()).staticSummary()).toBe('recover 1 deliveries → hooks.example.com');
    await handle.terminate();
    expect(await recoverNow(db, deliveryActions(), clientId, endpointId, range)).toEqual({ count: 1, missing: 0 });
  });

  it("is refused for a disabled endpoint, a deleted endpoint, and another client's endpoint", async () => {
    const { clientId, deliveries } = await sleeping();
    const { endpointId } = deliveries[0]!;
    const other = recoverNow(db, deliveryActions(), await makeClient(db), endpointId, range);
    await expect(other).rejects.toMatchObject({ code: 'not_found' });
    const cancelling = { enabled: false, cancellingAfter: endpointId };
    await db.prisma.endpoint.update({ where: { id: endpointId }, data: cancelling });
    const early = recoverNow(db, deliveryActions(), clientId, endpointId, range);
    await expect(early).rejects.toMatchObject({ code: 'cancellation_in_progress' });
    await db.prisma.endpoint.update({ where: { id: endpointId }, data: { cancellingAfter: null } });
    const disabled = recoverNow(db, deliveryActions(), clientId, endpointId, range);
    await expect(disabled).rejects.toMatchObject({ code: 'endpoint_not_active' });
    await db.prisma.endpoint.update({ where: { id: endpointId }, data: { deletedAt: new Date() } });
    const deleted = recoverNow(db, deliveryActions(), clientId, endpointId, range);
    await expect(deleted).rejects.toMatchObject({ code: 'not_found' });
  });
});
