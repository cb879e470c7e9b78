import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../support/api.js';
import { runCommand } from '../support/command.js';
import { deliverTo } from '../support/history.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

test('`deliveries retry` and the API share the limit of ten retries an hour', async () => {
  const client = await api.client();
  const { deliveryId } = await deliverTo(api, client);
  const path = `/deliveries/${deliveryId}/retry`;
  const env = {
    ENVIRONMENT: 'sandbox',
    DATABASE_URL: api.database.url.reveal(),
    // Nothing listens there: a retry needs no Temporal.
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'),
  };
  const retry = () => runCommand(['deliveries', 'retry', deliveryId], env);
  /** As if the requested attempt had been made. */
  const attempted = () => api.database.prisma.queuedAttempt.deleteMany({ where: { deliveryId } });
  for (let i = 0; i < 9; i++) {
    expect((await client.call('POST', path)).status).toBe(202);
    await attempted();
  }
  expect(await retry()).toMatchObject({ code: 0, stderr: '' });
  expect(await attempted()).toEqual({ count: 1 });
  expect((await client.call('POST', path)).body.code).toBe('retry_limit_reached');
  const { code, stdout, stderr } = await retry();
  expect([code, stdout, stderr]).toEqual([
    1,
    '',
    expect.stringMatching(/^Limit: 10 manual retries per hour per delivery[^\n]+\n$/),
  ]);
  // A rejected command leaves no audit entry.
  expect(
    await api.database.prisma.auditEntry.count({
      where: { action: 'deliveries.retry', target: deliveryId, actor: { startsWith: 'cli:' } },
    }),
  ).toBe(1);
});
