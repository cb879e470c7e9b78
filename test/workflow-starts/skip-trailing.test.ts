import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { readPending } from '../../src/workflow-starts/read-pending.js';
import { createDeliveryActions } from '../../src/workflow-starts/retry-and-recover.js';
import { SkipTrailing } from '../../src/workflow-starts/skip-trailing.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { retryNow } from '../support/delivery-actions.js';
import { makeClient } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';
import { attemptedEvent, createTestStarters } from '../support/workflow-starter.js';

let db: TestDatabase;
let temporal: TestTemporal;
let starters: ReturnType<typeof createTestStarters>;
beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
  starters = createTestStarters(db, () => ({ client: temporal.client, eager: false }));
}, 120_000);
afterEach(() => starters.stop());
afterAll(async () => {
  await temporal.close();
  await db.drop();
});

/** One pass over what is older than 1 ms. @returns the number that it counted */
async function skipAll(): Promise<number> {
  const metrics = createMetrics();
  const skipping = new SkipTrailing({ db, trail: 1, metrics, log: silentLog });
  skipping.now();
  await waitFor(
    'the trailing events',
    async () => (await db.prisma.event.count({ where: { outbox: 'trailing' } })) === 0,
  );
  await skipping.stop();
  return Number(/^webhook_workflows_skipped_total (\d+)$/m.exec(await metrics.text())?.[1]);
}
const describeWorkflow = (id: string) => temporal.client.workflow.getHandle(id).describe();

/** Three delivered events and one failed event, which no worker has started while Temporal was away. */
async function backlog(): Promise<{ delivered: CommittedEvent[]; failed: CommittedEvent }> {
  const delivered = [await attemptedEvent(db, 'succeeded')];
  for (let i = 0; i < 2; i++) delivered.push(await attemptedEvent(db, 'succeeded', await makeClient(db)));
  return { delivered, failed: await attemptedEvent(db, 'pending', delivered[0]!.clientId) };
}

describe('SkipTrailing', () => {
  it('marks and counts delivered events; an event with something left to do gets its workflow', async () => {
    const { delivered, failed } = await backlog();
    expect(await skipAll()).toBe(3);
    expect(await Promise.all(delivered.map(starters.outboxOf))).toEqual(['done', 'done', 'done']);
    expect(await starters.outboxOf(failed)).toBe('start');
    starters.open().starter.start();
    await starters.done(failed);
    expect((await describeWorkflow(failed.eventId)).status.name).toBe('RUNNING');
    for (const { eventId } of delivered) await expect(describeWorkflow(eventId)).rejects.toThrow(/not found/i);
  });

  it('leaves nothing for reconcile, in a worker or as a command', async () => {
    const { failed } = await backlog();
    await skipAll();
    await db.query(`update deliveries set next_attempt_at = now() - interval '1 hour' where status = 'pending'`, []);
    for (const overdueMinutes of [10, null]) {
      const { starts } = await readPending(db, [], { overdueMinutes, after: null, limit: 100 });
      // The deliveries of other tests, whose events are done too.
      const delivered = starts.filter(({ input }) => input.deliveries.every(({ status }) => status !== 'pending'));
      expect([delivered, starts.filter(({ workflowId }) => workflowId === failed.eventId)]).toEqual([[], []]);
    }
  });

  it('leaves a delivery that can be retried by hand, in a workflow of its own', async () => {
    const { delivered } = await backlog();
    await skipAll();
    const [event] = delivered;
    const { deliveryId } = event!.deliveries[0]!;
    await retryNow(
      db,
      createDeliveryActions(() => temporal.client, [0]),
      event!.clientId,
      deliveryId,
    );
    expect(await describeWorkflow(`retry-${deliveryId}-2`)).toMatchObject({ type: 'retryDelivery' });
  });
});
