import { expect, it } from '@jest/globals';
import { must } from '../support/caller.js';
import { startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

// `api` and `worker` as separate processes, on a real Temporal that the API cannot reach.

/** The receiver responds from then on. */
let opened = Promise.resolve();
const service = await startService({
  roles: ['api'],
  faults: { api: { TEMPORAL_ADDRESS: '127.0.0.1:1' } },
  receive: (socket) => opened.then(() => socket.write('HTTP/1.1 204 x\r\n\r\n')),
});
const { call: client, database, receiver, running } = service;
const webhookId = await service.register();

/** Makes events whose deliveries were cancelled. */
async function cancelled(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await must(service.change(await service.makeTransfer()));
  }
  await must(client('PATCH', `/webhook-endpoints/${webhookId}`, { enabled: false }));
  await must(client('PATCH', `/webhook-endpoints/${webhookId}`, { enabled: true }));
}
const recover = async () => {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  return client('POST', `/webhook-endpoints/${webhookId}/recover`, { since });
};
const deliveriesOf = (status: 'pending' | 'succeeded' | 'cancelled') =>
  database.prisma.delivery.count({ where: { status } });
const ended = () => waitFor('the end of the recovery', async () => (await database.prisma.workflowStart.count()) === 0);

it('whose workflow is terminated after its first batch recovers the rest with a new workflow', async () => {
  const held = Promise.withResolvers<void>();
  opened = held.promise;
  await cancelled(60);
  expect((await recover()).body).toMatchObject({ count: 60, missing: 0 });
  await service.start('worker');
  await waitFor('the first batch', async () => (await deliveriesOf('cancelled')) < 60);
  const { workflowId } = await database.prisma.workflowStart.findFirstOrThrow({ where: { endpointId: webhookId } });
  await service.temporal.client.workflow.getHandle(workflowId).terminate('by an operator');
  // Ten attempts are in flight and twenty may wait for them.
  expect(await deliveriesOf('cancelled')).toBeGreaterThan(0);
  held.resolve();
  await database.query('update workflow_starts set start_after = now()', []);
  await waitFor('the deliveries', async () => (await deliveriesOf('succeeded')) === 60);
  await ended();
});

it('is accepted while Temporal is unavailable, and runs with the first worker, though its API was killed', async () => {
  await running.worker.stop();
  const before = receiver.requests.length;
  await cancelled(5);
  const { status, body } = await recover();
  expect([status, body]).toMatchObject([202, { count: 5, missing: 0 }]);
  running.api.process.kill('SIGKILL');
  await running.api.ended;
  await service.start('worker');
  await waitFor('the deliveries', async () => (await deliveriesOf('succeeded')) === 65);
  await ended();
  expect(receiver.requests).toHaveLength(before + 5);
});
