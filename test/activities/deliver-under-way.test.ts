import type { ApplicationFailure } from '@temporalio/activity';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import { recordAttempts } from '../../src/webhooks/record.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { deliverActivity, deliverRequest } from '../support/deliver-activity.js';
import { fakeSender, refusedBy } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

describe('the activity deliver, while the lane makes the first attempt', () => {
  it('asks for an attempt that the lane makes without a slot, which the attempt may have', async () => {
    const event = await commitEvent(db);
    const slots = new AttemptSlots<unknown>({ perEndpoint: 1, perClient: 9, total: 9 });
    slots.tryAcquire(event.clientId, event.deliveries[0]!.endpointId);
    const ask = () => deliverActivity(db, fakeSender(), { slots })(deliverRequest(event));
    await expect(ask()).rejects.toMatchObject({ type: 'AttemptUnderWay', nextRetryDelay: 2_000 });
    const { deliveryId, url } = event.deliveries[0]!;
    const plan = { number: 1, trigger: 'schedule', nextDelay: 0, single: false } as const;
    await recordAttempts(db, [{ ...plan, deliveryId, url, outcome: refusedBy(503) }], []);
    expect(await ask()).toMatchObject({ status: 'pending', attemptCount: 1, lastOutcome: '503' });
  });

  it('cancels no delivery whose first attempt is under way, although its 410 has disabled the endpoint', async () => {
    const event = await commitEvent(db);
    const { endpointId: id } = event.deliveries[0]!;
    await db.prisma.endpoint.update({ where: { id }, data: { enabled: false, disabledReason: 'gone' } });
    await expect(deliverActivity(db, fakeSender())(deliverRequest(event))).rejects.toMatchObject({
      type: 'AttemptUnderWay',
    });
    const { deliveryId } = event.deliveries[0]!;
    const delivery = await db.prisma.delivery.findUniqueOrThrow({ where: { id: deliveryId } });
    expect(delivery).toMatchObject({ status: 'pending' });
  });

  it('spreads the activities that ask for attempts under way', async () => {
    const event = await commitEvent(db);
    const ask = deliverActivity(db, fakeSender());
    const delays: number[] = [];
    for (let i = 0; i < 100; i++) {
      const failure = await ask(deliverRequest(event)).catch((error: unknown) => error);
      delays.push(Number((failure as ApplicationFailure).nextRetryDelay));
    }
    expect([delays[0], Math.max(...delays) > 5_000, Math.max(...delays) <= 30_100]).toEqual([2_000, true, true]);
  });
});
