import { beforeAll, expect, test } from '@jest/globals';
import { openDatabase } from '../../src/platform/database/database.js';
import type { TransferStatus } from '../../src/platform/database/generated/enums.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { newId } from '../../src/platform/ids.js';
import { expireTransfers } from '../../src/transfers/expire-transfers.js';
import { openTestDatabase } from '../support/database.js';
import { BY_OPERATOR, makeClient } from '../support/factories.js';
import { createOwnedDatabase } from '../support/runtime-role.js';

const DAY = 86_400_000;
const RETENTION = 100 * DAY;

const db = await openTestDatabase();
let clientId: string;
beforeAll(async () => {
  clientId = await makeClient(db);
});

/** A transfer that was made and changed `days` ago, in two steps. */
async function transfer(status: TransferStatus, days: number, changed = days): Promise<string> {
  const [id, createdAt, updatedAt] = [days, days, changed].map((ago) => new Date(Date.now() - ago * DAY));
  const transferId = newId(id!.getTime());
  await db.prisma.transfer.create({
    data: {
      ...{ id: transferId, clientId, status, createdAt: createdAt!, updatedAt: updatedAt! },
      ...{ amountValue: 1n, amountCurrency: 'EUR', destinationName: 'Ada', destinationAccount: 'DE02' },
      history: { create: [0, 1].map((position) => ({ position, status, at: createdAt! })) },
      sandbox: { create: { clientId, endedAt: createdAt! } },
    },
  });
  return transferId;
}

const kept = async () => {
  const rows = await db.prisma.transfer.findMany({ orderBy: { id: 'asc' }, select: { id: true } });
  return rows.map(({ id }) => id);
};
const entries = () => db.prisma.auditEntry.findMany({ where: { action: 'transfers.expire' } });

test('removes what ended before the retention with its history, in batches, and keeps everything else', async () => {
  const open = [await transfer('CREATED', 300), await transfer('PROCESSING', 300), await transfer('SENT', 300)];
  for (const status of ['COMPLETED', 'CANCELLED', 'FAILED', 'RETURNED', 'FAILED'] as const) await transfer(status, 200);
  const withEvent = await transfer('COMPLETED', 190);
  const event = { id: newId(), type: 'transfer.status_changed', body: '{}', createdAt: new Date() };
  await db.prisma.event.create({ data: { ...event, clientId, transferId: withEvent } });
  const endedLater = await transfer('COMPLETED', 180, 50);
  const recent = await transfer('COMPLETED', 99);
  expect(await expireTransfers(db, BY_OPERATOR, RETENTION, 2)).toBe(5);
  expect(await kept()).toEqual([...open, withEvent, endedLater, recent]);
  expect(await db.prisma.statusChange.count()).toBe(12);
  expect(await entries()).toMatchObject([{ ...BY_OPERATOR, target: null, details: { older_than: '100d' } }]);
});

test('the runtime role is rejected before anything is read, and the error asks for the owner', async () => {
  const owned = await createOwnedDatabase();
  await migrate(owned.ownerUrl, { runtime: owned.runtimeRole });
  const runtime = openDatabase({ url: owned.runtimeUrl, poolSize: 2 });
  try {
    await expect(expireTransfers(runtime, BY_OPERATOR, RETENTION)).rejects.toThrow(
      `DATABASE_URL: the role ${owned.runtimeRole} may not do this; give the URL of the owner of the tables`,
    );
  } finally {
    await runtime.close();
    await owned.drop();
  }
});
