import { describe, expect, it } from '@jest/globals';
import { skipWorkflowsLoop } from '../../src/delivery/outbox.js';
import type { WorkflowMode } from '../../src/platform/config/config.js';
import { newId } from '../../src/platform/ids.js';
import { createMetrics } from '../../src/platform/telemetry/metrics.js';
import { readWorkflowLoad } from '../../src/reports/workflow-load.js';
import type { CommittedEvent } from '../support/committed-event.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';
import { attemptedEvent, useStarters } from '../support/workflow-starter.js';

const its = useStarters();

/** One pass over what is older than 1 ms. @returns the number that it counted */
async function skipAll(workflows: WorkflowMode = 'every-event'): Promise<number> {
  const metrics = createMetrics();
  const workers = { isFirst: true };
  const skipping = skipWorkflowsLoop({ db: its.db, workflows, workers, trail: 1, metrics, log: silentLog });
  skipping.request();
  await waitFor(
    'the delivered events',
    async () => (await its.db.prisma.outboxEvent.count({ where: { state: 'delivered' } })) === 0,
  );
  await skipping.stop();
  return Number(/^webhook_workflows_skipped_total (\d+)$/m.exec(await metrics.text())?.[1]);
}
const describeWorkflow = (id: string) => its.temporal.client.workflow.getHandle(id).describe();

/** Three delivered events and one failed event, which no worker has started while Temporal was unavailable. */
async function backlog(): Promise<{ delivered: CommittedEvent[]; failed: CommittedEvent }> {
  const delivered = [await attemptedEvent(its.db, 'succeeded')];
  for (let i = 0; i < 2; i++) delivered.push(await attemptedEvent(its.db, 'succeeded'));
  return { delivered, failed: await attemptedEvent(its.db, 'pending', delivered[0]!.clientId) };
}

describe('SkipWorkflows', () => {
  it('removes and counts delivered events; an event with remaining work gets its workflow', async () => {
    const { delivered, failed } = await backlog();
    expect(await skipAll()).toBe(3);
    expect(await its.db.prisma.outboxEvent.findMany()).toMatchObject([{ eventId: failed.eventId, state: 'start' }]);
    its.starters.open();
    await its.starters.done(failed);
    expect((await describeWorkflow(failed.eventId)).status.name).toBe('RUNNING');
    for (const { eventId } of delivered) await expect(describeWorkflow(eventId)).rejects.toThrow(/not found/i);
  });

  // Without Temporal, rows of events without an endpoint and of cancelled deliveries stayed, and retention kept their
  // events.
  it('regression: removes delivered events with WORKFLOWS=retries-only too, and counts none', async () => {
    await backlog();
    expect(await skipAll('retries-only')).toBe(0);
  });

  it('is near once a delivered event has waited for a minute', async () => {
    const isBehind = async () => (await readWorkflowLoad(its.db, its.temporal.client)).isBehind;
    const add = (state: string, age: number) =>
      its.db.query(
        `insert into outbox (event_id, client_id, state) values ($1::uuid, gen_random_uuid(), $2::outbox_state)`,
        [newId(Date.now() - age), state],
      );
    await add('start', 120_000);
    await add('delivered', 30_000);
    expect(await isBehind()).toBe(false);
    await add('delivered', 90_000);
    expect(await isBehind()).toBe(true);
  });
});
