// Every path of the service's workflows, each run once. The ladder LADDER is short, since a timer of a second and
// a timer of a day leave the same events.
import { setTimeout as sleep } from 'node:timers/promises';

export const LADDER = '0s,1s,2s,8s';
const EXHAUSTED_AFTER = 5;

const good = () => 204;
const bad = () => 503;
const badFor = (count) => (attempt) => (attempt <= count ? 503 : 204);

/**
 * This path runs while the only worker cannot reach Temporal: three attempts are made, and the workflow starts with a
 * signal.
 */
export async function beforeTheFirstTask({ event, attempts, retry, keepEnded }, startWorker) {
  const stopBlindWorker = await startWorker({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
  const { eventId, deliveryIds } = await event(badFor(3));
  await attempts(deliveryIds[0], 2);
  await retry(deliveryIds[0]);
  await attempts(deliveryIds[0], 3);
  await stopBlindWorker();
  await startWorker();
  await keepEnded('signalled-before-the-first-task', eventId);
}

export const paths = {
  async delivered({ event, keepEnded }) {
    await keepEnded('delivered', (await event(good)).eventId);
  },

  async 'one retry by a timer'({ event, keepEnded }) {
    await keepEnded('retried', (await event(badFor(3))).eventId);
  },

  async ladder({ event, keepEnded }) {
    await keepEnded('ladder', (await event(badFor(4))).eventId);
  },

  async 'asleep, then woken by a manual retry'({ event, attempts, asleep, retry, keep, keepEnded }) {
    const { eventId, deliveryIds } = await event(badFor(4));
    await attempts(deliveryIds[0], 4);
    await asleep(eventId, 8);
    await keep('asleep', eventId);
    await retry(deliveryIds[0]);
    await keepEnded('woken', eventId);
  },

  async 'woken by a manual retry that fails, and asleep until its planned time'({
    event,
    attempts,
    asleep,
    retry,
    keepEnded,
  }) {
    const { eventId, deliveryIds } = await event(badFor(5));
    await attempts(deliveryIds[0], 4);
    await asleep(eventId, 8);
    await retry(deliveryIds[0]);
    await keepEnded('woken-in-vain', eventId);
  },

  async 'exhausted, then retried manually with success'({ event, status, retry, runOf, keepEnded, keepNext }) {
    const { eventId, deliveryIds } = await event(badFor(EXHAUSTED_AFTER));
    await status(deliveryIds[0], 'failed');
    await keepEnded('exhausted', eventId);
    const ended = await runOf(eventId);
    await retry(deliveryIds[0]);
    await keepNext('retried-after-its-end', eventId, ended);
  },

  async 'cancelled: the endpoint is disabled in the middle of the ladder'({ event, attempts, enable, keepEnded }) {
    const { eventId, deliveryIds, webhookIds } = await event(bad);
    await attempts(deliveryIds[0], 3);
    await enable(webhookIds[0], false);
    await keepEnded('cancelled', eventId);
  },

  async 'gone: the receiver responds 410 in the middle of the ladder'({ event, keepEnded }) {
    await keepEnded('gone', (await event((attempt) => (attempt < 4 ? 503 : 410))).eventId);
  },

  async 'two endpoints side by side'({ event, keepEnded }) {
    await keepEnded('two-endpoints', (await event(badFor(3), bad)).eventId);
  },

  async 'no free slot: the activity asks again'({ event, change, attempts, keepEnded }) {
    // The last of these events sleeps. When it wakes, hanging attempts of the others have all slots of the endpoint.
    let hangs = false;
    const events = [await event((attempt) => (hangs ? sleep(6_000, 204) : attempt <= 3 ? 503 : 204))];
    await attempts(events[0].deliveryIds[0], 3);
    hangs = true;
    for (let i = 0; i < 10; i++) events.push(await change());
    await keepEnded('no-slot', events[0].eventId);
  },

  async 'what a recovery brings back'(acts) {
    const { event, status, enable, recover, ended, runOf, keepNext } = acts;
    const answer = { now: 503 };
    const { webhookIds, ...first } = await event(() => answer.now);
    await enable(webhookIds[0], false);
    await status(first.deliveryIds[0], 'cancelled');
    answer.now = 204;
    await enable(webhookIds[0], true);
    await ended(first.eventId);
    const before = await runOf(first.eventId);
    await recover(webhookIds[0]);
    await keepNext('recovered', first.eventId, before);
  },

  async 'a sandbox transfer that moves to its end by itself'({ sandboxTransfer, keepEnded }) {
    await keepEnded('sandbox-transfer', `sandbox-${await sandboxTransfer('SANDBOX-RETURN-OTHER')}`);
  },

  async 'a sandbox transfer that a manual change ends'({ sandboxTransfer, transferStatus, setStatus, keepEnded }) {
    const id = await sandboxTransfer('SANDBOX-COMPLETE');
    await transferStatus(id, 'PROCESSING');
    await setStatus(id, 'CANCELLED');
    await keepEnded('sandbox-transfer-overtaken', `sandbox-${id}`);
  },

  async 'a check of a receiver that accepts everything'({ event, check, keepEnded }) {
    const { webhookIds } = await event(good);
    await keepEnded('check-receiver', await check(webhookIds[0]));
  },
};
