import { jest } from '@jest/globals';
import type { TransferStatus } from '../../src/platform/database/generated/enums.js';
import { isId, timeOf } from '../../src/platform/ids.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { createTransfer } from '../../src/transfers/create-transfer.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint, makeTransfer } from '../support/factories.js';
import { recordingHandover } from '../support/recording-handover.js';

const db = await openTestDatabase();
let clientId: string;

beforeEach(async () => {
  clientId = await makeClient(db);
});

describe('changeStatus', () => {
  it('lets exactly one of several racing changes win, with one event', async () => {
    const targets: TransferStatus[] = ['PROCESSING', 'CANCELLED', 'PROCESSING', 'FAILED', 'CANCELLED'];
    const handover = recordingHandover();
    for (let run = 0; run < 20; run++) {
      const transfer = await makeTransfer(db, clientId);
      const results = await Promise.allSettled(
        targets
          .filter((to) => to !== 'PROCESSING' || run % 2 === 0)
          .map((to) => changeStatus(db, handover, { transferId: transfer.id, to, reason: null })),
      );
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'invalid_transition' });
      }
      expect(await db.prisma.event.count({ where: { transferId: transfer.id } })).toBe(1);
      expect(await db.prisma.statusChange.count({ where: { transferId: transfer.id } })).toBe(2);
    }
  });

  it('commits concurrent changes in one statement, each with its own outcome', async () => {
    const transfers = await Promise.all(Array.from({ length: 30 }, () => makeTransfer(db, clientId)));
    await makeEndpoint(db, clientId);
    const handover = recordingHandover();
    const commits = jest.spyOn(db, 'hot');
    const changes = await Promise.allSettled([
      ...transfers.map(({ id }) =>
        changeStatus(db, handover, { transferId: id, clientId, to: 'PROCESSING', reason: null }),
      ),
      changeStatus(db, handover, { transferId: transfers[0]!.id, clientId, to: 'SENT', reason: null }),
      changeStatus(db, handover, { transferId: clientId, clientId, to: 'SENT', reason: null }),
    ]);
    expect(commits).toHaveBeenCalledTimes(1);
    commits.mockRestore();
    expect(changes.map(({ status }) => status)).toEqual([...transfers.map(() => 'fulfilled'), 'rejected', 'rejected']);
    expect(changes.slice(-2)).toMatchObject([
      { reason: { code: 'invalid_transition' } },
      { reason: { code: 'not_found' } },
    ]);
    const made = await db.prisma.event.findMany({
      where: { id: { in: handover.events.map(({ eventId }) => eventId) } },
    });
    expect(made.map(({ transferId }) => transferId).sort()).toEqual(transfers.map(({ id }) => id).sort());
    expect(new Set(handover.events.map((event) => event.deliveries[0]?.deliveryId)).size).toBe(30);
  });

  it('commits the other changes of a batch when Postgres rejects one', async () => {
    const [good, bad] = [await makeTransfer(db, clientId), await makeTransfer(db, clientId)];
    const [first, second] = await Promise.allSettled([
      changeStatus(db, recordingHandover(), { transferId: good.id, to: 'PROCESSING', reason: null }),
      changeStatus(db, recordingHandover(), { transferId: bad.id, to: 'PROCESSING', reason: 'a\u0000b' }),
    ]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { status: 'PROCESSING' } });
    expect(second.status).toBe('rejected');
  });

  it('hands over only after the commit, and not after a rollback', async () => {
    const transfer = await makeTransfer(db, clientId);
    const handover = recordingHandover();
    const change = { transferId: transfer.id, to: 'PROCESSING', reason: null } as const;
    await expect(
      db.transaction(async (tx) => {
        await changeStatus(tx, handover, change);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(handover.events).toEqual([]);
    await db.transaction(async (tx) => {
      await changeStatus(tx, handover, change);
      expect(handover.events).toEqual([]);
    });
    expect(handover.events).toHaveLength(1);
  });
});

describe("the time of a change, and of its transfer's creation", () => {
  const change = (transferId: string, to: TransferStatus) =>
    changeStatus(db, recordingHandover(), { transferId, to, reason: null, by: { actor: 'cli:test' } });
  const create = () =>
    createTransfer(
      db,
      { environment: 'production', sandboxStep: 2_000 },
      {
        ...{ clientId, amount: { value: 1, currency: 'EUR' }, destination: { name: 'A', account: 'X' } },
        ...{ reference: null, metadata: {} },
      },
    );

  /** All times of a transfer, ms since 1970. The first is that of its creation. */
  async function timesOf(id: string): Promise<number[]> {
    const { history, createdAt, updatedAt } = await db.prisma.transfer.findUniqueOrThrow({
      where: { id },
      include: { history: { orderBy: { position: 'asc' } } },
    });
    const times = history.map(({ at }) => at.getTime());
    expect([timeOf(id), createdAt.getTime(), updatedAt.getTime()]).toEqual([times[0], times[0], times.at(-1)]);
    const events = await db.prisma.event.findMany({
      where: { transferId: id },
      orderBy: { id: 'asc' },
      include: { deliveries: true },
    });
    const made = events.map(({ id, body, createdAt, deliveries }) => {
      expect(isId(id)).toBe(true);
      for (const delivery of deliveries)
        expect([timeOf(delivery.id), delivery.createdAt]).toEqual([timeOf(id), createdAt]);
      return [timeOf(id), createdAt.getTime(), Date.parse(`${JSON.parse(body).created_at}Z`)];
    });
    expect(made).toEqual(times.slice(1).map((at) => [at, at, at]));
    const audited = await db.prisma.auditEntry.findMany({ where: { target: id }, orderBy: { id: 'asc' } });
    expect(audited.map(({ at }) => at.getTime())).toEqual(times.slice(1));
    return times;
  }

  it("is by Postgres's clock, whatever the clocks of the processes", async () => {
    await makeEndpoint(db, clientId);
    const [before] = await db.query<{ ms: string }>(
      'select (extract(epoch from now()) * 1000)::bigint::text as ms',
      [],
    );
    const now = Date.now;
    const clock = jest.spyOn(Date, 'now');
    const ahead = (seconds: number) => clock.mockImplementation(() => now() + seconds * 1_000);
    try {
      ahead(20);
      const { id } = await create();
      ahead(-20);
      await change(id, 'PROCESSING');
      ahead(20);
      await change(id, 'SENT');
      ahead(-20);
      await change(id, 'COMPLETED');
      const times = await timesOf(id);
      expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
      expect(times[0]! - Number(before!.ms)).toBeGreaterThanOrEqual(-1);
      expect(times[3]! - Number(before!.ms)).toBeLessThan(15_000);
    } finally {
      clock.mockRestore();
    }
  });

  it('is a millisecond after the change before it, if the clock says that it is no later', async () => {
    const { id, createdAt } = await makeTransfer(db, clientId);
    // A server took over whose clock is 20 s behind.
    const at = new Date(createdAt.getTime() + 20_000);
    await db.query(`update transfers set updated_at = $2::timestamptz where id = $1::uuid returning 1 as one`, [
      id,
      at,
    ]);
    const changed = [await change(id, 'PROCESSING'), await change(id, 'SENT')].map(({ updatedAt }) =>
      updatedAt.getTime(),
    );
    expect(changed).toEqual([at.getTime() + 1, at.getTime() + 2]);
  });
});
