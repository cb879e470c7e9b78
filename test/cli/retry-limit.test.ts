import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDeliveryActions } from '../../src/workflow-starts/retry-and-recover.js';
import { startApi, type TestApi } from '../support/api.js';
import { runCli } from '../support/cli.js';
import { deliverTo } from '../support/history.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
let api: TestApi;
beforeAll(async () => {
  temporal = await createTestNamespace();
  const deliveryActions = createDeliveryActions(() => temporal.client, [0, 300_000]);
  api = await startApi({ dependencies: { deliveryActions } });
});
afterAll(async () => {
  await api.close();
  await temporal.close();
});

test('`deliveries retry` and the API share the limit of ten retries an hour', async () => {
  const client = await api.client();
  const { deliveryId } = await deliverTo(api, client);
  const path = `/deliveries/${deliveryId}/retry`;
  const env = {
    ENVIRONMENT: 'sandbox',
    DATABASE_URL: api.database.url.reveal(),
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'),
  };
  const retry = () => runCli(['deliveries', 'retry', deliveryId], env);
  for (let i = 0; i < 9; i++) expect((await client.call('POST', path)).status).toBe(202);
  expect(await retry()).toMatchObject({ code: 0, stderr: '' });
  expect((await client.call('POST', path)).body.code).toBe('retry_limit_reached');
  const { code, stdout, stderr } = await retry();
  expect([code, stdout, stderr]).toEqual([
    1,
    '',
    expect.stringMatching(/^This delivery was retried by hand 10 times[^\n]+\n$/),
  ]);
  // A refused command is no entry of the audit.
  expect(
    await api.database.prisma.auditEntry.count({
      where: { action: 'deliveries.retry', target: deliveryId, actor: { startsWith: 'cli:' } },
    }),
  ).toBe(1);
});
