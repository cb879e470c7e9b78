import type { ApplicationFailure } from '@temporalio/activity';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import type { Sender } from '../../src/webhooks/sender/send.js';
import type { DeliverRequest } from '../../workflows/deliver-event.activities.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DeliverOptions, deliverActivity, deliverRequest } from '../support/deliver-activity.js';
import { fakeSender, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const deliver = (sender: Sender, asked: DeliverRequest, options?: DeliverOptions) =>
  deliverActivity(db, sender, options)(asked);

const free = () => commitEvent(db, { leases: false });
const read = (event: CommittedEvent) =>
  db.prisma.delivery.findUniqueOrThrow({ where: { id: event.deliveries[0]!.deliveryId }, include: { attempts: true } });

describe('the activity deliver after Postgres was restored from a backup', () => {
  const idOf = (event: CommittedEvent) => event.deliveries[0]!.deliveryId;
  const setRow = (event: CommittedEvent, data: Parameters<typeof db.prisma.delivery.update>[0]['data']) =>
    db.prisma.delivery.update({ where: { id: idOf(event) }, data });
  /** An event whose first attempt has failed and whose second is planned in `wait` ms. */
  async function failedOnce(wait: number | null): Promise<CommittedEvent> {
    const event = await free();
    await deliver(
      fakeSender(() => refusedBy(503)),
      deliverRequest(event, { nextDelay: wait }),
    );
    return event;
  }
  /** A log that keeps the lines at `warn`. */
  function warnings() {
    const lines: Record<string, unknown>[] = [];
    const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
      warn: (line: Record<string, unknown>) => void lines.push(line),
    });
    return { lines, log };
  }

  it('returns the state of a row that is behind its workflow, logs it, and sends nothing', async () => {
    const event = await failedOnce(120_000);
    const sender = fakeSender();
    const { lines, log } = warnings();
    const asked = deliverRequest(event, { eventId: event.eventId, number: 4, nextDelay: 1_800_000 });
    const outcome = await deliver(sender, asked, { log });
    expect(outcome).toMatchObject({ status: 'pending', reason: null, attemptCount: 1, lastOutcome: '503' });
    expect(outcome.wait).toBeGreaterThan(110_000);
    expect(outcome.wait).toBeLessThanOrEqual(120_000);
    expect(sender.sent).toEqual([]);
    expect(lines).toMatchObject([{ event_id: event.eventId, delivery_id: idOf(event), attempt: 4, attempt_count: 1 }]);
  });

  it("asks for no wait when the row's planned time is past, and waits for a claim that was restored with the row", async () => {
    const event = await failedOnce(0);
    expect(await deliver(fakeSender(), deliverRequest(event, { number: 3 }))).toMatchObject({
      attemptCount: 1,
      wait: 0,
    });
    await setRow(event, { attemptingUntil: new Date(Date.now() + 20_000) });
    const { wait } = await deliver(fakeSender(), deliverRequest(event, { number: 3 }));
    expect(wait).toBeGreaterThan(15_000);
    expect(wait).toBeLessThanOrEqual(20_100);
  });

  it('returns the attempt count of a row that is ahead and has no record of the attempt', async () => {
    const event = await free();
    await setRow(event, { attemptCount: 5, attemptingUntil: null, nextAttemptAt: new Date(Date.now() + 60_000) });
    const outcome = await deliver(fakeSender(), deliverRequest(event, { number: 3 }));
    expect(outcome).toMatchObject({ status: 'pending', attemptCount: 5, lastOutcome: null });
    expect(outcome.wait).toBeGreaterThan(50_000);
  });

  it('ignores a claim of a clock that was far ahead', async () => {
    const event = await free();
    await setRow(event, { attemptingUntil: new Date(Date.now() + 3_600_000) });
    expect(await deliver(fakeSender(), deliverRequest(event))).toMatchObject({ status: 'succeeded' });
  });

  it('ends the workflow of a recovery that the row does not know, and starts the workflow that the row names', async () => {
    const event = await failedOnce(0);
    const started: string[] = [];
    const startOwner = async (id: string) => void started.push(id);
    const recovered = deliverRequest(event, { number: 7, owner: `recover-${idOf(event)}-6`, trigger: 'recover' });
    const { lines, log } = warnings();
    expect(await deliver(fakeSender(), recovered, { startOwner, log })).toMatchObject({ status: 'cancelled' });
    expect(started).toEqual([idOf(event)]);
    expect(lines).toMatchObject([{ delivery_id: idOf(event), owner: null }]);
    await setRow(event, { status: 'failed', reason: 'exhausted' });
    await deliver(fakeSender(), recovered, { startOwner });
    expect(started).toHaveLength(1);
  });

  it('starts no workflow when a recovery has taken the delivery over', async () => {
    const event = await free();
    await setRow(event, { owner: `recover-${idOf(event)}-0` });
    const startOwner = () => Promise.reject(new Error('not to be started'));
    expect(await deliver(fakeSender(), deliverRequest(event), { startOwner })).toMatchObject({ status: 'cancelled' });
  });

  it('returns the state of the row of an ended delivery to a manual retry', async () => {
    const event = await failedOnce(null);
    const sender = fakeSender();
    const single = { trigger: 'manual', single: true, nextDelay: null } as const;
    expect(await deliver(sender, deliverRequest(event, { ...single, number: 4 }))).toMatchObject({
      status: 'failed',
      attemptCount: 1,
      wait: null,
    });
    expect(sender.sent).toEqual([]);
    expect(await deliver(sender, deliverRequest(event, { ...single, number: 2 }))).toMatchObject({
      status: 'succeeded',
    });
  });

  it('hands a delivery that is pending again over to its ladder when a manual retry finds it', async () => {
    const event = await failedOnce(300_000);
    const started: string[] = [];
    const startOwner = async (id: string) => void started.push(id);
    const sender = fakeSender();
    for (const number of [2, 5]) {
      const single = deliverRequest(event, { number, trigger: 'manual', single: true, nextDelay: null });
      expect(await deliver(sender, single, { startOwner })).toMatchObject({ status: 'pending', attemptCount: 1 });
    }
    expect(started).toEqual([idOf(event), idOf(event)]);
    expect(sender.sent).toEqual([]);
    expect(await read(event)).toMatchObject({ status: 'pending', attemptCount: 1 });
  });

  it('logs a delivery that is gone', async () => {
    const event = await free();
    await db.prisma.delivery.delete({ where: { id: idOf(event) } });
    const { lines, log } = warnings();
    await deliver(fakeSender(), deliverRequest(event, { eventId: event.eventId }), { log });
    expect(lines).toMatchObject([{ event_id: event.eventId, delivery_id: idOf(event) }]);
  });

  it('asks again soon for an attempt that another process makes, because the retry after it waits meanwhile', async () => {
    const event = await free();
    await setRow(event, { attemptingUntil: new Date(Date.now() + 55_000) });
    const failure = await deliver(fakeSender(), deliverRequest(event)).catch((error: ApplicationFailure) => error);
    expect(failure).toMatchObject({ type: 'AttemptUnderWay', nextRetryDelay: 2_000 });
  });
});
