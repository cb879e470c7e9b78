import { changeStatus } from '../../src/transfers/change-status.js';
import { createTransfer } from '../../src/transfers/create-transfer.js';
import { makeSandboxStep } from '../../src/transfers/sandbox.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint } from '../support/factories.js';
import { type RecordingHandover, recordingHandover } from '../support/recording-handover.js';

const RULES = { environment: 'sandbox' as const, sandboxStep: 2_000 };

const db = await openTestDatabase();
let clientId: string;
let handover: RecordingHandover;
beforeEach(async () => {
  handover = recordingHandover();
  clientId = await makeClient(db);
  await makeEndpoint(db, clientId);
});

async function make(account: string): Promise<string> {
  const amount = { value: 1, currency: 'EUR' };
  const transfer = { clientId, amount, destination: { name: 'Ada', account }, reference: null, metadata: {} };
  return (await createTransfer(db, RULES, transfer)).id;
}
const step = (id: string, number: number) => makeSandboxStep(db, handover, id, number);
const start = (transferId: string) => db.prisma.workflowStart.findFirst({ where: { transferId } });
const manually = (transferId: string, to: 'PROCESSING' | 'CANCELLED') =>
  changeStatus(db, handover, { transferId, to, reason: null });
const read = async (id: string) => {
  const { history, sandbox, ...transfer } = await db.prisma.transfer.findUniqueOrThrow({
    where: { id },
    include: { history: { orderBy: { position: 'asc' } }, sandbox: true },
  });
  const eventCount = await db.prisma.event.count({ where: { transferId: id } });
  return { ...transfer, history, sandbox: sandbox!, eventCount };
};

describe('an automatic step', () => {
  it('makes the next status with one event that is handed over, and the last step ends the transfer', async () => {
    const id = await make('SANDBOX-FAIL-DUPLICATE');
    expect(await step(id, 1)).toEqual({ made: true, status: 'PROCESSING' });
    expect((await read(id)).sandbox).toMatchObject({ stepsMade: 1, endedAt: null });
    // A workflow that starts again begins after this step.
    expect(await start(id)).toMatchObject({ input: { made: 1, stepDelay: 2_000 }, startedAt: expect.any(Date) });
    expect((await start(id))!.startAfter.getTime()).toBeGreaterThan(Date.now() + 60_000);
    expect(await step(id, 2)).toEqual({ made: true, status: 'FAILED' });
    const transfer = await read(id);
    expect(transfer).toMatchObject({ status: 'FAILED', reasonCode: 'duplicate', eventCount: 2 });
    expect(transfer.history).toMatchObject([
      { status: 'CREATED', reason: null, reasonCode: null },
      { status: 'PROCESSING', reason: null, reasonCode: null },
      { status: 'FAILED', reason: null, reasonCode: 'duplicate' },
    ]);
    expect(transfer.sandbox).toMatchObject({ stepsMade: 2, endedAt: expect.any(Date) });
    expect(await start(id)).toBeNull();
    expect(handover.events.map(({ deliveries }) => deliveries.length)).toEqual([1, 1]);
  });

  it('that runs again finds its record and changes nothing, even after a later step', async () => {
    const id = await make('SANDBOX-COMPLETE');
    for (const number of [1, 1, 2, 1, 3, 2, 3]) expect(await step(id, number)).toMatchObject({ made: true });
    expect(await read(id)).toMatchObject({ status: 'COMPLETED', eventCount: 3 });
  });

  it('is made once by two runs at the same moment, and both report it as made', async () => {
    for (let run = 0; run < 10; run++) {
      const id = await make('SANDBOX-COMPLETE');
      const results = await Promise.all([step(id, 1), step(id, 1), step(id, 1)]);
      expect(results.map(({ made }) => made)).toEqual([true, true, true]);
      expect(await read(id)).toMatchObject({ status: 'PROCESSING', eventCount: 1, sandbox: { stepsMade: 1 } });
    }
  });

  it.each(['PROCESSING', 'CANCELLED'] as const)(
    'is not made after a manual change to %s, which ends all automatic steps',
    async (to) => {
      const id = await make('SANDBOX-COMPLETE');
      await manually(id, to);
      expect(await step(id, 1)).toEqual({ made: false, status: to });
      expect(await step(id, 2)).toEqual({ made: false, status: to });
      expect(await start(id)).toBeNull();
      expect(await read(id)).toMatchObject({ status: to, eventCount: 1, sandbox: { endedAt: expect.any(Date) } });
    },
  );

  it('and a manual change at the same moment: one of them wins', async () => {
    for (let run = 0; run < 10; run++) {
      const id = await make('SANDBOX-COMPLETE');
      const [automatic, manual] = await Promise.allSettled([step(id, 1), manually(id, 'CANCELLED')]);
      const { status } = await read(id);
      if (automatic.status === 'rejected') throw automatic.reason;
      // A cancel after step 1 is allowed too, and changes the transfer a second time.
      expect(automatic.value.made || (manual.status === 'fulfilled' && status === 'CANCELLED')).toBe(true);
      if (!automatic.value.made) expect((await read(id)).eventCount).toBe(1);
    }
  });

  it('never skips a step, and does nothing for a transfer that does not exist', async () => {
    const id = await make('SANDBOX-COMPLETE');
    expect(await step(id, 2)).toMatchObject({ made: false });
    expect(await read(id)).toMatchObject({ status: 'CREATED', eventCount: 0 });
    expect(await step('01900000-0000-7000-8000-000000000000', 1)).toEqual({ made: false, status: null });
  });
});
