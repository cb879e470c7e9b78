import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { must } from '../support/caller.js';
import { type MortalService, startMortalService } from '../support/mortal-service.js';
import { waitFor } from '../support/wait-for.js';

// The whole service in one process dies between two steps of a retry or a recovery, once at each failpoint. Each test
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
    const handle = mortal.temporal.client.workflow.getHandle(mortal.arrivalsOf(transfer)[0]!.event);
    const history = await handle.fetchHistory().catch(() => undefined);
    return history?.events?.at(-1)?.timerStartedEventAttributes;
  });
  return transfer;
}

test('after-retry-queued: makes a queued retry once when its request got no response', async () => {
  const transfer = await makeSleeping();
  const { id, next_attempt_at } = await mortal.readDelivery(transfer);
  const retry = () => mortal.client('POST', `/deliveries/${id}/retry`);
  expect(await mortal.dieAndBegin(['after-retry-queued', 1], retry)).toBeUndefined();
  const { attempts } = await mortal.untilDelivered(transfer);
  expect(attempts.map(({ trigger }: { trigger: string }) => trigger)).toEqual(['schedule', 'schedule', 'manual']);
  expect(mortal.arrivalsOf(transfer)).toHaveLength(3);
  expect(Date.parse(next_attempt_at)).toBeGreaterThan(Date.now());
});

const KEYED = [
  ['before-commit', 3],
  ['after-retry-queued', 3],
  ['before-post', 3],
  ['after-post', 4],
  ['after-record', 3],
] as const;
test.each<readonly [string, number]>(KEYED)(
  '%s of a retry with an Idempotency-Key: makes one attempt and returns one response for the same key',
  async (at, arrivals) => {
    const transfer = await makeSleeping();
    const { id } = await mortal.readDelivery(transfer);
    const retry = () => mortal.client('POST', `/deliveries/${id}/retry`, undefined, { 'Idempotency-Key': transfer });
    await mortal.dieAndBegin([at, 1], retry);
    const again = await retry();
    expect([again.status, again.body.id]).toEqual([202, id]);
    await mortal.untilDelivered(transfer);
    const replayed = await retry();
    expect([replayed.headers.get('idempotency-replayed'), replayed.body]).toEqual(['true', again.body]);
    await expectTriggers(transfer, ['schedule', 'schedule', 'manual']);
    expect(mortal.arrivalsOf(transfer)).toHaveLength(arrivals);
    expect(await mortal.count('limit_uses', `key = '${id}' and cardinality(uses) = 1`)).toBe(1);
  },
);

test.each<[string]>([['before-commit'], ['after-retry-queued']])(
  '%s of a retry of an ended delivery with an Idempotency-Key: makes one attempt for the same key',
  async (at) => {
    const transfer = await mortal.makeTransfer();
    mortal.responses.statuses = [];
    await must(mortal.change(transfer));
    const { id } = await mortal.untilDelivered(transfer);
    const retry = () => mortal.client('POST', `/deliveries/${id}/retry`, undefined, { 'Idempotency-Key': transfer });
    expect(await mortal.dieAndBegin([at, 1], retry)).toBeUndefined();
    expect((await retry()).status).toBe(202);
    await waitFor('the attempt', async () => (await mortal.readDelivery(transfer)).attempt_count === 2);
    expect((await retry()).headers.get('idempotency-replayed')).toBe('true');
    await expectTriggers(transfer, ['schedule', 'manual']);
    expect(mortal.arrivalsOf(transfer)).toHaveLength(2);
  },
);

test.each<[string]>([['before-commit'], ['after-workflow-start']])(
  '%s of a recovery with an Idempotency-Key: recovers once for the same key, and returns the same count',
  async (at) => {
    const transfer = await makeSleeping();
    await setEnabled(false);
    await setEnabled(true);
    const before = await mortal.count('audit_entries', `action = 'endpoints.recover'`);
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const recover = () =>
      mortal.client(
        'POST',
        `/webhook-endpoints/${mortal.webhookId}/recover`,
        { since },
        { 'Idempotency-Key': transfer },
      );
    const response = await mortal.dieAndBegin([at, 1], recover);
    if (at === 'before-commit') expect(response).toBeUndefined();
    expect(await recover()).toMatchObject({ status: 202, body: { count: 1 } });
    await mortal.untilDelivered(transfer);
    expect(mortal.arrivalsOf(transfer)).toHaveLength(3);
    const replayed = await recover();
    expect([replayed.headers.get('idempotency-replayed'), replayed.body.count]).toEqual(['true', 1]);
    expect(await mortal.count('audit_entries', `action = 'endpoints.recover'`)).toBe(before + 1);
  },
);

async function expectTriggers(transfer: string, triggers: string[]): Promise<void> {
  const { attempts } = await mortal.readDelivery(transfer);
  expect(attempts.map(({ trigger }: { trigger: string }) => trigger)).toEqual(triggers);
}

const setEnabled = (enabled: boolean) =>
  must(mortal.client('PUT', `/webhook-endpoints/${mortal.webhookId}`, { url: `${mortal.receiver.url}/in`, enabled }));

test('after-requeued: continues a recovery where it died, and delivers once', async () => {
  const transfer = await makeSleeping();
  await setEnabled(false);
  await setEnabled(true);
  expect(await mortal.readDelivery(transfer)).toMatchObject({ status: 'cancelled' });
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const response = await mortal.dieAndBegin(['after-requeued', 1], () =>
    mortal.client('POST', `/webhook-endpoints/${mortal.webhookId}/recover`, { since }),
  );
  if (response) expect(response).toMatchObject({ status: 202, body: { count: 1 } });
  await mortal.untilDelivered(transfer);
  expect(mortal.arrivalsOf(transfer)).toHaveLength(3);
});

test('after-missing-made: continues a recovery that made missing deliveries and did not start them, and delivers once', async () => {
  mortal.responses.statuses = [];
  await setEnabled(false);
  const transfer = await mortal.makeTransfer();
  await must(mortal.change(transfer));
  await setEnabled(true);
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const recover = () =>
    mortal.client('POST', `/webhook-endpoints/${mortal.webhookId}/recover`, { since, include_missing: true });
  const response = await mortal.dieAndBegin(['after-missing-made', 1], recover);
  if (response) expect(response).toMatchObject({ status: 202, body: { missing: 1 } });
  await mortal.untilDelivered(transfer);
  expect(mortal.arrivalsOf(transfer)).toHaveLength(1);
});

test('nothing is in progress after all failpoints, and the record agrees with the receiver', () =>
  mortal.expectTrueRecord());
