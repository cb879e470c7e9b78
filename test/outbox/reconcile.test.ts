import { Reconcile } from '../../src/outbox/reconcile.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { silentLog } from '../support/silent-log.js';
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

const reconcile = () =>
  new Reconcile({
    db,
    databaseUrl: db.url,
    temporal: () => ({ client: temporal.client, eager: false }),
    retryDelays: [0, 300_000],
    busy: () => false,
    log: silentLog,
  });

async function passedOn(overdueMinutes: number): Promise<string> {
  const { eventId } = await commitEvent(db);
  await db.prisma.event.update({ where: { id: eventId }, data: { outbox: 'done' } });
  const nextAttemptAt = new Date(Date.now() - overdueMinutes * 60_000);
  await db.prisma.delivery.updateMany({
    where: { eventId },
    data: { attemptCount: 2, nextAttemptAt, attemptingUntil: null },
  });
  return eventId;
}
const status = async (id: string) => (await temporal.client.workflow.getHandle(id).describe()).status.name;

describe('reconcile', () => {
  it('starts the workflow of an overdue delivery that Temporal has lost, and leaves one that is on time', async () => {
    const [lost, onTime] = [await passedOn(11), await passedOn(5)];
    expect(await reconcile().now()).toBe(1);
    expect(await status(lost)).toBe('RUNNING');
    await expect(status(onTime)).rejects.toThrow(/not found/i);
  });

  it('leaves a workflow alone that runs, and starts again one that was terminated by hand', async () => {
    const eventId = await passedOn(11);
    await reconcile().now();
    expect(await reconcile().now()).toBe(0);
    await temporal.client.workflow.getHandle(eventId).terminate('by hand');
    expect(await reconcile().now()).toBe(1);
    expect(await status(eventId)).toBe('RUNNING');
  });

  it('starts the workflow of a recovered delivery again under the name that owns it', async () => {
    const eventId = await passedOn(11);
    const { id } = await db.prisma.delivery.findFirstOrThrow({ where: { eventId } });
    await db.prisma.delivery.update({ where: { id }, data: { owner: `recover-${id}-2`, ladderStart: 2 } });
    await reconcile().now();
    expect(await status(`recover-${id}-2`)).toBe('RUNNING');
    await expect(status(eventId)).rejects.toThrow(/not found/i);
  });

  it('leaves an event to the sweep that has not been passed on', async () => {
    const eventId = await passedOn(11);
    await db.prisma.event.update({ where: { id: eventId }, data: { outbox: 'start' } });
    await reconcile().now();
    await expect(status(eventId)).rejects.toThrow(/not found/i);
  });
});
