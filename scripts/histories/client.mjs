// The actions of a path as a client of the service, and as an operator with access to Temporal.
import { waitFor as until } from '../../dist/test/support/wait-for.js';

/** @param keep called with the name and the history of each workflow to keep */
export function actor({ call, receiver, temporal }, keep) {
  const read = (deliveryId) => call('GET', `/deliveries/${deliveryId}`);
  const register = async (url) => {
    const secret = 'an-example-secret-that-signs-nothing';
    return (await call('POST', '/webhook-endpoints', { url, secret })).webhookId;
  };
  const setStatus = (id, status) => call('POST', `/sandbox/transfers/${id}/status`, { status });
  const create = async (account) => {
    const amount = { value: 1250, currency: 'EUR' };
    return (await call('POST', '/transfers', { amount, destination: { name: 'Ada', account } })).id;
  };
  const change = async () => {
    const id = await create('DE02');
    await setStatus(id, 'PROCESSING');
    const [{ id: eventId }] = (await call('GET', `/events?transfer_id=${id}`)).data;
    const { data } = await call('GET', `/events/${eventId}/deliveries`);
    return { eventId, deliveryIds: data.map((delivery) => delivery.id).sort() };
  };
  const acts = {
    register,
    change,
    read,
    sandboxTransfer: create,
    setStatus,
    transferStatus: (id, status) =>
      until(`a transfer that is ${status}`, async () => (await call('GET', `/transfers/${id}`)).status === status),
    /** Makes an event with its own endpoints, one for each `respond` function. */
    async event(...answers) {
      for (const { webhookId } of (await call('GET', '/webhook-endpoints')).data) {
        await call('DELETE', `/webhook-endpoints/${webhookId}`);
      }
      const webhookIds = [];
      for (const [i, answer] of answers.entries()) {
        webhookIds.push(await register(receiver.place(answer, i === 0 ? '127.0.0.1' : 'localhost')));
      }
      return { webhookIds, ...(await change()) };
    },
    async enable(webhookId, enabled) {
      const { url } = await call('GET', `/webhook-endpoints/${webhookId}`);
      await call('PUT', `/webhook-endpoints/${webhookId}`, { url, enabled });
    },
    retry: (deliveryId) => call('POST', `/deliveries/${deliveryId}/retry`),
    recover: (webhookId) => call('POST', `/webhook-endpoints/${webhookId}/recover`, { since: '2026-01-01T00:00:00Z' }),
    /** @returns the id of the started workflow */
    async check(webhookId) {
      return `check-${(await call('POST', `/webhook-endpoints/${webhookId}/checks`)).id}`;
    },
    attempts: (deliveryId, count) =>
      until(`attempt ${count}`, async () => (await read(deliveryId)).attempt_count === count),
    status: (deliveryId, status) =>
      until(`a delivery that is ${status}`, async () => (await read(deliveryId)).status === status),
    async keep(name, workflowId) {
      keep(name, await temporal.workflow.getHandle(workflowId).fetchHistory());
    },
    /** Waits until the workflow's last event is a timer of so many seconds, or up to one less. */
    asleep: (workflowId, seconds) =>
      until('a sleeping delivery', async () => {
        const { events = [] } = await temporal.workflow
          .getHandle(workflowId)
          .fetchHistory()
          .catch(() => ({}));
        const timer = events.at(-1)?.timerStartedEventAttributes?.startToFireTimeout;
        return timer && Number(timer.seconds) >= seconds - 2;
      }),
    /** The id of the workflow's latest run. */
    runOf: (workflowId) =>
      until(
        'a workflow',
        async () =>
          (
            await temporal.workflow
              .getHandle(workflowId)
              .describe()
              .catch(() => undefined)
          )?.runId,
      ),
    /** Keeps the run that follows the run `before`. */
    async keepNext(name, workflowId, before) {
      await until(`the next run of ${name}`, async () => (await acts.runOf(workflowId)) !== before);
      await acts.keepEnded(name, workflowId);
    },
    /** @param runId default: the latest run */
    async keepEnded(name, workflowId, runId) {
      await acts.ended(workflowId, runId);
      keep(name, await temporal.workflow.getHandle(workflowId, runId).fetchHistory());
    },
    async ended(workflowId, runId) {
      const handle = temporal.workflow.getHandle(workflowId, runId);
      const status = async () => (await handle.describe().catch(() => undefined))?.status.name ?? 'RUNNING';
      await until(`the end of ${workflowId}`, async () => (await status()) !== 'RUNNING');
    },
  };
  return acts;
}
