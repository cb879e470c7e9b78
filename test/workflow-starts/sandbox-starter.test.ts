import { ANY, shareWaiting } from '../../src/outbox/waiting.js';
import { createTransfer } from '../../src/transfers/create-transfer.js';
import { countSandboxTransfers, leaseSandboxTransfers } from '../../src/workflow-starts/sandbox-outbox.js';
import { SandboxStarter } from '../../src/workflow-starts/sandbox-starter.js';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';

const RULES = { environment: 'sandbox' as const, sandboxStep: 3_600_000 };

let db: TestDatabase;
let temporal: TestTemporal;
let clientId: string;
const starters: SandboxStarter[] = [];
beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
}, 120_000);
afterAll(async () => {
  await temporal.close();
  await db.drop();
});
beforeEach(async () => {
  clientId = await makeClient(db);
});
afterEach(async () => {
  for (const starter of starters.splice(0)) await starter.stop();
  await db.query('update sandbox_transfers set ended_at = now()', []);
});

function open(client: () => typeof temporal.client | undefined = () => temporal.client): void {
  const connected = () => {
    const present = client();
    return present && { client: present, eager: false };
  };
  const stepDelay = RULES.sandboxStep;
  const waiting = shareWaiting(db);
  const options = { db, temporal: connected, stepDelay, busy: () => false, waiting, onUsed() {}, log: silentLog };
  const starter = new SandboxStarter(options);
  starters.push(starter);
  starter.start();
}

async function create(of = clientId): Promise<string> {
  const destination = { name: 'Ada', account: 'SANDBOX-COMPLETE' };
  const transfer = { clientId: of, amount: { value: 1, currency: 'EUR' }, destination, reference: null, metadata: {} };
  return (await createTransfer(db, RULES, transfer)).id;
}
const record = (transferId: string) => db.prisma.sandboxTransfer.findUniqueOrThrow({ where: { transferId } });
const started = (id: string) => waitFor('the start', async () => (await record(id)).startedAt !== null);
const describeWorkflow = (id: string) => temporal.client.workflow.getHandle(`sandbox-${id}`).describe();

describe('the starter of sandbox transfers', () => {
  it('starts one workflow for each transfer, also with two workers', async () => {
    const ids = [await create(), await create(), await create()];
    open();
    open();
    for (const id of ids) {
      await started(id);
      expect(await describeWorkflow(id)).toMatchObject({
        type: 'sandboxTransfer',
        taskQueue: SANDBOX_TASK_QUEUE,
        status: { name: 'RUNNING' },
      });
    }
    expect(await countSandboxTransfers(db, 100)).toEqual({ waiting: 0, unfinished: 3 });
  });

  it('waits while Temporal is away, and starts when it is back', async () => {
    const id = await create();
    let asked = 0;
    let away = true;
    open(() => {
      asked++;
      return away ? undefined : temporal.client;
    });
    await waitFor('the starter to look', () => asked > 1);
    expect(await record(id)).toMatchObject({ startedAt: null });
    away = false;
    await started(id);
  });

  it('counts a workflow that a dead worker started without a mark as started', async () => {
    const id = await create();
    open();
    await started(id);
    const { runId } = await describeWorkflow(id);
    await db.query('update sandbox_transfers set started_at = null, start_after = now() where transfer_id = $1::uuid', [
      id,
    ]);
    await started(id);
    expect((await describeWorkflow(id)).runId).toBe(runId);
  });

  it('starts a terminated workflow again, and leaves a running one alone', async () => {
    const [terminated, running] = [await create(), await create()];
    open();
    await Promise.all([started(terminated), started(running)]);
    const before = [await describeWorkflow(terminated), await describeWorkflow(running)];
    await temporal.client.workflow.getHandle(`sandbox-${terminated}`).terminate();
    await db.query('update sandbox_transfers set start_after = now() where ended_at is null', []);
    await waitFor('the restart', async () => (await describeWorkflow(terminated)).status.name === 'RUNNING');
    await waitFor('both to be marked', async () => {
      const rows = await Promise.all([record(terminated), record(running)]);
      return rows.every(({ startAfter }) => startAfter.getTime() > Date.now() + 60_000);
    });
    expect((await describeWorkflow(terminated)).runId).not.toBe(before[0]!.runId);
    expect((await describeWorkflow(running)).runId).toBe(before[1]!.runId);
  });

  it('tells at a poll that the environment has an automatic transfer or a check', async () => {
    let polls = 0;
    const usedAt: number[] = [];
    const starter = new SandboxStarter({
      ...{ db, temporal: () => undefined, stepDelay: RULES.sandboxStep, busy: () => false, log: silentLog },
      waiting: async () => ({ ...ANY, sandbox: false, sandboxUsed: ++polls === 2 }),
      onUsed: () => usedAt.push(polls),
    });
    starters.push(starter);
    starter.start();
    await waitFor('three polls', () => polls >= 3);
    expect(usedAt).toEqual([2]);
  });

  it('takes clients in turn', async () => {
    const other = await makeClient(db);
    for (let i = 0; i < 5; i++) await create();
    const [first, second] = [await create(other), await create(other)];
    const leased = await leaseSandboxTransfers(db, 4, 30);
    expect(
      leased
        .filter((transfer) => transfer.clientId === other)
        .map(({ transferId }) => transferId)
        .sort(),
    ).toEqual([first, second].sort());
    expect((await leaseSandboxTransfers(db, 10, 30)).length).toBe(3);
  });
});

describe('the lease of sandbox transfers', () => {
  const lease = async (limit: number) => (await leaseSandboxTransfers(db, limit, 30)).map(({ clientId: of }) => of);
  /** Clients with more due transfers than a batch has. */
  async function flood(count: number): Promise<string[]> {
    const clients = await Promise.all(Array.from({ length: count }, () => makeClient(db)));
    for (let i = 0; i < 8; i++) await Promise.all(clients.map(create));
    return clients;
  }

  // Six clients within their limits delayed another's first step from 2 s to 12 s.
  it("has a client's transfer in the first batch, however many older ones of more clients are due", async () => {
    await flood(6);
    expect(new Set(await lease(6)).size).toBe(6);
    const victim = await makeClient(db);
    for (let i = 0; i < 3; i++) {
      await create(victim);
      expect(await lease(5)).toContain(victim);
    }
  });

  it('serves the client with the fewest running ones, until all have as many', async () => {
    const [one, other] = (await flood(2)) as [string, string];
    await lease(8);
    await create();
    await create();
    const next = await lease(4);
    expect(next.filter((of) => of === clientId)).toHaveLength(2);
    expect(next.filter((of) => of !== clientId).sort()).toEqual([one, other].sort());
  });
});
