// Every path of the service's workflows, each run once. The ladder LADDER is short, since a timer of a second and
// a timer of a day leave the same events.
import { setTimeout as sleep } from 'node:timers/promises';

export const LADDER = '0s,1s,2s,8s';
const EXHAUSTED_AFTER = 5;

const good = () => 204;
const bad = () => 503;
const badFor = (count) => (attempt) => (attempt <= count ? 503 : 204);

/**
 * These paths run while the only worker cannot reach Temporal: the first attempt is made and the workflow starts later.
 */
export async function beforeTheFirstTask({ event, attempts, retry, keepEnded }, startWorker) {
  const stopBlindWorker = await startWorker({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
  const { eventId, deliveryIds } = await event(badFor(1));
  await attempts(deliveryIds[0], 1);
  await retry(deliveryIds[0]);
  await stopBlindWorker();
  await startWorker();
  await keepEnded('signalled-before-the-first-task', eventId);
}

export const paths = {
  async delivered({ event, keepEnded }) {
    await keepEnded('delivered', (await event(good)).eventId);
  },

  async ladder({ event, keepEnded }) {
    await keepEnded('ladder', (await event(badFor(3))).eventId);
  },

  async 'asleep, then woken by a retry'({ event, attempts, retry, keep, keepEnded }) {
    const { eventId, deliveryIds } = await event(badFor(4));
    await attempts(deliveryIds[0], 4);
    await sleep(500);
    await keep('asleep', eventId);
    await retry(deliveryIds[0]);
    await keepEnded('retry-now', eventId);
  },

  async 'exhausted, then retried by hand with success'({ event, status, read, retry, keepEnded }) {
    const { eventId, deliveryIds } = await event(badFor(EXHAUSTED_AFTER));
    await status(deliveryIds[0], 'failed');
    await keepEnded('exhausted', eventId);
    const { attempt_count } = await read(deliveryIds[0]);
    await retry(deliveryIds[0]);
    await keepEnded('retry-delivery-succeeded', `retry-${deliveryIds[0]}-${attempt_count + 1}`);
  },

  async 'delivered, then retried by hand in vain'({ event, status, retry, keepEnded }) {
    const { deliveryIds } = await event((attempt) => (attempt === 1 ? 204 : 503));
    await status(deliveryIds[0], 'succeeded');
    await retry(deliveryIds[0]);
    await keepEnded('retry-delivery-failed', `retry-${deliveryIds[0]}-2`);
  },

  async 'cancelled: the endpoint is disabled in the middle of the ladder'({ event, attempts, enable, keepEnded }) {
    const { eventId, deliveryIds, webhookIds } = await event(bad);
    await attempts(deliveryIds[0], 3);
    await enable(webhookIds[0], false);
    await keepEnded('cancelled', eventId);
  },

  async 'gone: the receiver answers 410 in the middle of the ladder'({ event, keepEnded }) {
    await keepEnded('gone', (await event((attempt) => (attempt < 3 ? 503 : 410))).eventId);
  },

  async 'two endpoints side by side'({ event, keepEnded }) {
    await keepEnded('two-endpoints', (await event(badFor(2), bad)).eventId);
  },

  async 'the first attempt, handed over to the workflow by the express lane'({ event, change, inputOf, keepEnded }) {
    // As many attempts as an endpoint may have at once hang longer than the lane waits. Later jobs are handed over.
    const events = [await event((attempt) => (attempt <= 10 ? sleep(8_000, 204) : 204))];
    for (let i = 0; i < 12; i++) events.push(await change());
    for (const { eventId } of events.slice(10)) {
      if ((await inputOf(eventId)).deliveries[0].attemptCount > 0) continue;
      return keepEnded('first-attempt-by-the-workflow', eventId);
    }
    throw new Error('the lane has made every first attempt itself');
  },

  async 'a recovery in two batches, and what it brings back'(acts) {
    const { event, change, attempts, enable, recover, read, keepEnded } = acts;
    const answer = { now: 503 };
    const { webhookIds, ...first } = await event(() => answer.now);
    const rest = [];
    for (let i = 0; i < 24; i++) rest.push(await change());
    const last = rest.at(-1);
    await attempts(last.deliveryIds[0], 4);
    await enable(webhookIds[0], false);
    answer.now = 204;
    await enable(webhookIds[0], true);
    const { attempt_count } = await read(first.deliveryIds[0]);
    await recover(webhookIds[0]);
    await keepEnded('recover-endpoint', `recover-${webhookIds[0]}`);
    await keepEnded('recovered', `recover-${first.deliveryIds[0]}-${attempt_count}`);
    // The event's own workflow wakes at its last rung and finds that another workflow has taken over.
    await keepEnded('taken-over', last.eventId);
  },

  async 'a sandbox transfer that moves to its end by itself'({ sandboxTransfer, keepEnded }) {
    await keepEnded('sandbox-transfer', `sandbox-${await sandboxTransfer('SANDBOX-RETURN-OTHER')}`);
  },

  async 'a sandbox transfer that a change by hand ends'({ sandboxTransfer, transferStatus, setStatus, keepEnded }) {
    const id = await sandboxTransfer('SANDBOX-COMPLETE');
    await transferStatus(id, 'PROCESSING');
    await setStatus(id, 'CANCELLED');
    await keepEnded('sandbox-transfer-overtaken', `sandbox-${id}`);
  },

  async 'a check of a receiver that accepts everything'({ event, check, keepEnded }) {
    const { webhookIds } = await event(good);
    await keepEnded('check-receiver', await check(webhookIds[0]));
  },

  async 'a recovery of missing events, and one that continues as a new run'(acts) {
    const { event, change, enable, recoverWithMissing, startRecover, inputOf, keepEnded } = acts;
    const { webhookIds } = await event(good);
    await enable(webhookIds[0], false);
    for (let i = 0; i < 2; i++) await change();
    await enable(webhookIds[0], true);
    await recoverWithMissing(webhookIds[0]);
    const first = `recover-${webhookIds[0]}`;
    await keepEnded('recover-endpoint-missing', first);
    const again = `again-${webhookIds[0]}`;
    const runId = await startRecover(again, first, { ...(await inputOf(first)), batchesPerRun: 1 });
    await keepEnded('recover-endpoint-continues', again, runId);
    await keepEnded('recover-endpoint-continued', again);
  },

  async 'the removal of what is older than RETENTION'({ runSchedule, keepEnded }) {
    await keepEnded('remove-expired', await runSchedule('retention'));
  },
};
