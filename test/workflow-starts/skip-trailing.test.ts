import { describe, expect, it } from '@jest/globals';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { readPending } from '../../src/workflow-starts/read-pending.js';
import { createDeliveryActions } from '../../src/workflow-starts/retry-and-recover.js';
import { SkipTrailing } from '../../src/workflow-starts/skip-trailing.js';
import { retryNow } from '../support/delivery-actions.js';
import { makeClient } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';
import { attemptedEvent, useStarters } from '../support/workflow-starter.js';

const its = useStarters();

/** One pass over what is older than 1 ms. @returns the number that it counted */
async function skipAll(): Promise<number> {
  const metrics = createMetrics();
  const skipping = new SkipTrailing({ db: its.db, trail: 1, metrics, log: silentLog });
  skipping.now();
  await waitFor(
    'the trailing events',
    async () => (await its.db.prisma.event.count({ where: { outbox: 'trailing' } })) === 0,
  );
  await skipping.stop();
  return Number(/^webhook_workflows_skipped_total (\d+)$/m.exec(await metrics.text())?.[1]);
}
const describeWorkflow = (id: string) => its.temporal.client.workflow.getHandle(id).describe();

/** Three delivered events and one failed event, which no worker has started while Temporal was away. */
async function backlog(): Promise<{ delivered: CommittedEvent[]; failed: CommittedEvent }> {
  const delivered = [await attemptedEvent(its.db, 'succeeded')];
  for (let i = 0; i < 2; i++) delivered.push(await attemptedEvent(its.db, 'succeeded', await makeClient(its.db)));
  return { delivered, failed: await attemptedEvent(its.db, 'pending', delivered[0]!.clientId) };
}

describe('SkipTrailing', () => {
  it('marks and counts delivered events; an event with something left to do gets its workflow', async () => {
    const { delivered, failed } = await backlog();
    expect(await skipAll()).toBe(3);
    expect(await Promise.all(delivered.map(its.starters.outboxOf))).toEqual(['done', 'done', 'done']);
    expect(await its.starters.outboxOf(failed)).toBe('start');
    its.starters.open().starter.start();
    await its.starters.done(failed);
    expect((await describeWorkflow(failed.eventId)).status.name).toBe('RUNNING');
    for (const { eventId } of delivered) await expect(describeWorkflow(eventId)).rejects.toThrow(/not found/i);
  });

  it('leaves nothing for reconcile, in a worker or as a command', async () => {
    const { failed } = await backlog();
    await skipAll();
    await its.db.query(
      `update deliveries set next_attempt_at = now() - interval '1 hour' where status = 'pending'`,
      [],
    );
    for (const overdueMinutes of [10, null]) {
      const { starts } = await readPending(its.db, [], { overdueMinutes, after: null, limit: 100 });
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
      its.db,
      createDeliveryActions(() => its.temporal.client, [0]),
      event!.clientId,
      deliveryId,
    );
    expect(await describeWorkflow(`retry-${deliveryId}-2`)).toMatchObject({ type: 'retryDelivery' });
  });
});
