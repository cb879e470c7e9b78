import { leaseStarts, type StartWorkflowsOptions, startWorkflows } from '../../src/delivery/start-workflows.js';
import { shareWaiting } from '../../src/delivery/waiting.js';
import { enqueueWorkflow, keepStarted, type WorkflowStart } from '../../src/delivery/workflow-starts.js';
import { newId } from '../../src/platform/ids.js';
import type { Periodic } from '../../src/platform/periodic.js';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { ClientId, WebhookIds } from '../../workflows/search-attributes.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { silentLog } from '../support/silent-log.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let temporal: TestTemporal;
let clientId: string;
const outboxes: Periodic[] = [];
beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
}, 120_000);
afterAll(async () => {
  await temporal.close();
  await db.drop();
});
beforeEach(() => {
  clientId = newId();
});
afterEach(async () => {
  for (const outbox of outboxes.splice(0)) await outbox.stop();
  await db.query('delete from workflow_starts', []);
});

function open(options: Partial<StartWorkflowsOptions> = {}): void {
  const outbox = startWorkflows({
    ...{ db, temporal: () => temporal.client, busy: () => false, waiting: shareWaiting(db, { isFirst: true }) },
    ...{ interval: 200, log: silentLog, ...options },
  });
  outboxes.push(outbox);
  outbox.start();
}

/** Enqueues a workflow. No worker carries it out. */
async function enqueue(start: Partial<WorkflowStart> = {}): Promise<string> {
  const workflowId = newId();
  await enqueueWorkflow(db, {
    ...{ workflowId, type: 'sandboxTransfer', taskQueue: TASK_QUEUE, clientId, input: { made: 0 } },
    ...{ summary: 'a summary', renewedWithin: 600, ...start },
  });
  return start.workflowId ?? workflowId;
}
const row = (workflowId: string) => db.prisma.workflowStart.findUniqueOrThrow({ where: { workflowId } });
const started = (id: string) => waitFor('the start', async () => (await row(id)).startedAt !== null);
const describeWorkflow = (id: string) => temporal.client.workflow.getHandle(id).describe();
const ahead = async (id: string) => ((await row(id)).startAfter.getTime() - Date.now()) / 1_000;

describe('the workflow outbox', () => {
  it('starts one workflow for each row, even with two workers', async () => {
    const endpointId = newId();
    const ids = [await enqueue({ endpointId }), await enqueue({ endpointId }), await enqueue({ endpointId })];
    open();
    open();
    for (const id of ids) {
      await started(id);
      const described = await describeWorkflow(id);
      expect(described).toMatchObject({ type: 'sandboxTransfer', taskQueue: TASK_QUEUE, status: { name: 'RUNNING' } });
      expect(described.typedSearchAttributes.get(ClientId)).toBe(clientId);
      expect(described.typedSearchAttributes.get(WebhookIds)).toEqual([endpointId]);
      expect(await described.staticSummary()).toBe('a summary');
      expect(await ahead(id)).toBeGreaterThan(500);
    }
  });

  it('ends expired work before it starts anything, even while Temporal is unavailable', async () => {
    await enqueue();
    let ended = 0;
    open({
      temporal: () => undefined,
      endLate: async () => {
        ended++;
      },
    });
    await waitFor('the call', () => ended > 1);
  });

  it('starts a terminated workflow again with the input of the row, and leaves a running one alone', async () => {
    const [terminated, running] = [await enqueue(), await enqueue()];
    open();
    await Promise.all([started(terminated), started(running)]);
    const before = [await describeWorkflow(terminated), await describeWorkflow(running)];
    await temporal.client.workflow.getHandle(terminated).terminate();
    await db.query(`update workflow_starts set start_after = now(), input = '{"made": 2}'`, []);
    await waitFor('the restart', async () => (await describeWorkflow(terminated)).status.name === 'RUNNING');
    await waitFor('both to be marked', async () => (await ahead(terminated)) > 60 && (await ahead(running)) > 60);
    expect((await describeWorkflow(terminated)).runId).not.toBe(before[0]!.runId);
    expect((await describeWorkflow(running)).runId).toBe(before[1]!.runId);
    const { events } = await temporal.client.workflow.getHandle(terminated).fetchHistory();
    const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    expect(JSON.parse(Buffer.from(payload?.data ?? []).toString())).toEqual({ made: 2 });
  });

  it('starts the others beside a row whose start Temporal rejects', async () => {
    const rejected = await enqueue({ workflowId: 'x'.repeat(2_000) });
    const other = await enqueue();
    open();
    await started(other);
    await waitFor('the rejection', async () => (await ahead(rejected)) > 31);
    expect(await row(rejected)).toMatchObject({ startedAt: null });
  });

  it('leaves a row alone that an activity has renewed since its lease', async () => {
    const id = await enqueue();
    await leaseStarts(db, 1, 0);
    await keepStarted(db, id);
    const { startedAt } = await row(id);
    expect([startedAt, await leaseStarts(db, 1, 30)]).toEqual([expect.any(Date), []]);
    expect(await ahead(id)).toBeGreaterThan(500);
  });
});

describe('the lease of workflow starts', () => {
  const lease = async (limit: number) => (await leaseStarts(db, limit, 30)).map(({ clientId: of }) => of);
  /** Clients with more due workflows than a batch has. */
  async function flood(count: number): Promise<string[]> {
    const clients = Array.from({ length: count }, newId);
    for (let i = 0; i < 8; i++) await Promise.all(clients.map((of) => enqueue({ clientId: of })));
    return clients;
  }

  // Six clients within their limits delayed another's first step from 2 s to 12 s.
  it("has a client's workflow in the first batch, however many older ones of more clients are due", async () => {
    await flood(6);
    expect(new Set(await lease(6)).size).toBe(6);
    const victim = newId();
    for (let i = 0; i < 3; i++) {
      await enqueue({ clientId: victim });
      expect(await lease(5)).toContain(victim);
    }
  });

  it('serves the client with the fewest workflows in progress, until all have as many', async () => {
    const [one, other] = (await flood(2)) as [string, string];
    await lease(8);
    await enqueue();
    await enqueue();
    const next = await lease(4);
    expect(next.filter((of) => of === clientId)).toHaveLength(2);
    expect(next.filter((of) => of !== clientId).sort()).toEqual([one, other].sort());
  });

  it("does not keep a client's check or recovery behind its own transfers", async () => {
    for (let i = 0; i < 30; i++) await enqueue();
    await lease(10);
    const check = await enqueue({ type: 'checkReceiver' });
    const [first] = await leaseStarts(db, 1, 30);
    expect(first?.workflowId).toBe(check);
  });
});
