import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Failpoint } from '../../src/failpoints.js';
import { must } from '../support/caller.js';
import { type MortalService, startMortalService } from '../support/mortal-service.js';
import { waitFor } from '../support/wait-for.js';

// The whole service in one process dies between two steps of a retry or a recover, once at each failpoint. Each test
// continues with the state that the test before it leaves.

let mortal: MortalService;
beforeAll(async () => {
  mortal = await startMortalService();
}, 60_000);
afterAll(() => mortal?.stop(), 60_000);

/** Makes a transfer whose delivery has failed twice and sleeps for an hour. */
async function makeSleeping(): Promise<string> {
  const transfer = await mortal.makeTransfer();
  mortal.responses.statuses = [500, 500];
  await must(mortal.change(transfer));
  await waitFor('the hour of sleep', async () => (await mortal.readDelivery(transfer)).attempt_count === 2);
  await waitFor('the timer', async () => {
    const { events } = await mortal.temporal.client.workflow
      .getHandle(mortal.arrivalsOf(transfer)[0]!.event)
      .fetchHistory();
    return events?.at(-1)?.timerStartedEventAttributes;
  });
  return transfer;
}

test('after-signal: makes a signalled retry once when its request got no response', async () => {
  const transfer = await makeSleeping();
  const { id } = await mortal.readDelivery(transfer);
  const retry = () => mortal.client('POST', `/deliveries/${id}/retry`);
  expect(await mortal.dieAndBegin(['after-signal', 1], retry)).toBeUndefined();
  const { attempts } = await mortal.untilDelivered(transfer);
  expect(attempts.map(({ trigger }: { trigger: string }) => trigger)).toEqual(['schedule', 'schedule', 'manual']);
  expect(mortal.arrivalsOf(transfer)).toHaveLength(3);
});

test.each<[Failpoint]>([['after-reserved'], ['after-signal'], ['before-kept'], ['after-kept']])(
  '%s of a retry with an Idempotency-Key: makes one attempt and returns one response for the same key',
  async (at) => {
    const transfer = await makeSleeping();
    const { id } = await mortal.readDelivery(transfer);
    const retry = () => mortal.client('POST', `/deliveries/${id}/retry`, undefined, { 'Idempotency-Key': transfer });
    expect(await mortal.dieAndBegin([at, 1], retry)).toBeUndefined();
    const again = await onceTemporalIsReached(retry);
    expect(again.status).toBe(202);
    await mortal.untilDelivered(transfer);
    const replayed = await retry();
    expect([replayed.headers.get('idempotency-replayed'), replayed.body]).toEqual(['true', again.body]);
    await expectTriggers(transfer, ['schedule', 'schedule', 'manual']);
    expect(mortal.arrivalsOf(transfer)).toHaveLength(3);
    expect(await mortal.count('manual_retries', `delivery_id = '${id}'`)).toBe(1);
  },
);

test.each<[Failpoint]>([['after-reserved'], ['after-asked'], ['before-kept']])(
  '%s of a retry of an ended delivery with an Idempotency-Key: makes one attempt for the same key',
  async (at) => {
    const transfer = await mortal.makeTransfer();
    mortal.responses.statuses = [];
    await must(mortal.change(transfer));
    const { id } = await mortal.untilDelivered(transfer);
    const retry = () => mortal.client('POST', `/deliveries/${id}/retry`, undefined, { 'Idempotency-Key': transfer });
    expect(await mortal.dieAndBegin([at, 1], retry)).toBeUndefined();
    expect((await onceTemporalIsReached(retry)).status).toBe(202);
    await waitFor('the attempt', async () => (await mortal.readDelivery(transfer)).attempt_count === 2);
    expect((await retry()).headers.get('idempotency-replayed')).toBe('true');
    await expectTriggers(transfer, ['schedule', 'manual']);
    expect(mortal.arrivalsOf(transfer)).toHaveLength(2);
  },
);

test.each<[Failpoint]>([['after-reserved'], ['after-admitted'], ['after-asked'], ['before-kept']])(
  '%s of a recover with an Idempotency-Key: recovers once for the same key, and returns the same count',
  async (at) => {
    const transfer = await makeSleeping();
    const { id } = await mortal.readDelivery(transfer);
    await setEnabled(false);
    await setEnabled(true);
    const before = await mortal.count('recovers', 'true');
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const recover = () =>
      mortal.client(
        'POST',
        `/webhook-endpoints/${mortal.webhookId}/recover`,
        { since },
        { 'Idempotency-Key': transfer },
      );
    expect(await mortal.dieAndBegin([at, 1], recover)).toBeUndefined();
    expect(await onceTemporalIsReached(recover)).toMatchObject({ status: 202, body: { count: 1 } });
    await mortal.untilDelivered(transfer);
    expect(mortal.arrivalsOf(transfer)).toHaveLength(3);
    const replayed = await recover();
    expect([replayed.headers.get('idempotency-replayed'), replayed.body.count]).toEqual(['true', 1]);
    expect(await mortal.count('recovers', 'true')).toBe(before + 1);
    await mortal.temporal.client.workflow
      .getHandle(mortal.arrivalsOf(transfer)[0]!.event)
      .signal('retryNow', { deliveryId: id, number: 3 });
  },
);

/** A service returns 503 after its start until it is connected to Temporal. */
const onceTemporalIsReached = (ask: () => ReturnType<MortalService['client']>) =>
  waitFor('a response of a service that reaches Temporal', async () => {
    const response = await ask();
    return response.status !== 503 && response;
  });

async function expectTriggers(transfer: string, triggers: string[]): Promise<void> {
  const { attempts } = await mortal.readDelivery(transfer);
  expect(attempts.map(({ trigger }: { trigger: string }) => trigger)).toEqual(triggers);
}

const setEnabled = (enabled: boolean) =>
  must(mortal.client('PUT', `/webhook-endpoints/${mortal.webhookId}`, { url: `${mortal.receiver.url}/in`, enabled }));

test('after-put-back: continues a recovery where it died, and delivers once', async () => {
  const transfer = await makeSleeping();
  await setEnabled(false);
  await setEnabled(true);
  expect(await mortal.readDelivery(transfer)).toMatchObject({ status: 'cancelled' });
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const response = await mortal.dieAndBegin(['after-put-back', 1], () =>
    mortal.client('POST', `/webhook-endpoints/${mortal.webhookId}/recover`, { since }),
  );
  if (response) expect(response).toMatchObject({ status: 202, body: { count: 1 } });
  const { id } = await mortal.untilDelivered(transfer);
  expect(mortal.arrivalsOf(transfer)).toHaveLength(3);
  // The event's own workflow sees only in an hour that the delivery was taken over.
  const { event } = mortal.arrivalsOf(transfer)[0]!;
  await mortal.temporal.client.workflow.getHandle(event).signal('retryNow', { deliveryId: id, number: 3 });
});

test('after-missing-made: continues a recover that made missing deliveries and did not start them, and delivers once', async () => {
  mortal.responses.statuses = [];
  await setEnabled(false);
  const transfer = await mortal.makeTransfer();
  await must(mortal.change(transfer));
  await setEnabled(true);
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const recover = () =>
    mortal.client('POST', `/webhook-endpoints/${mortal.webhookId}/recover`, { since, include_missing: true });
  const response = await mortal.dieAndBegin(['after-missing-made', 1], () => onceTemporalIsReached(recover));
  if (response) expect(response).toMatchObject({ status: 202, body: { missing: 1 } });
  await mortal.untilDelivered(transfer);
  expect(mortal.arrivalsOf(transfer)).toHaveLength(1);
});

test('nothing is in progress after all failpoints, and the record agrees with the receiver', () =>
  mortal.expectTrueRecord());
