import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import { CHECK_CASE_NAMES } from '../../src/platform/vocabulary.js';
import { type CheckedReceiver, type Mistake, startCheckedReceiver } from '../support/checked-receiver.js';
import { runCommand } from '../support/command.js';
import { startService } from '../support/service.js';
import { SECRET } from '../support/transfers.js';

// Commands that wait for the work of a worker.

const statuses = [204, 204, 503];
const service = await startService({
  receive: (socket) => socket.write(`HTTP/1.1 ${statuses.shift() ?? 204} x\r\nContent-Length: 0\r\n\r\n`),
  settings: { DELIVERY_RETRY_DELAYS: '0s,1h' },
});
await service.register();
const { prisma } = service.database;
const receivers: CheckedReceiver[] = [];
let deliveryId: string;
beforeAll(async () => {
  await service.change(await service.makeTransfer());
  await service.untilDelivered();
  deliveryId = (await prisma.delivery.findFirstOrThrow()).id;
});
afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())));

const retry = (...args: string[]) => runCommand(['deliveries', 'retry', deliveryId, '--wait', ...args], service.env);

test('`deliveries retry --wait` exits with 0 if the attempt succeeds and with 1 if it fails', async () => {
  const { code, stdout, stderr } = await retry();
  expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/\nattempt:\n2\tmanual\t\S+Z\t\d+\t204\t/), '']);
  const failed = await retry('--json');
  expect([failed.code, failed.stderr]).toEqual([1, 'the attempt failed: 503\n']);
  const attempt = { number: 3, trigger: 'manual', response_status: 503, error: 'status' };
  expect(JSON.parse(failed.stdout)).toMatchObject({ id: deliveryId, retried: true, attempt });
});

async function register(mistake?: Mistake): Promise<string> {
  const receiver = await startCheckedReceiver(SECRET, mistake);
  receivers.push(receiver);
  return service.register({ url: receiver.url });
}

describe('`endpoints check`', () => {
  it('prints the report, exits with 0, and leaves an audit entry', async () => {
    const webhookId = await register();
    const { code, stdout, stderr } = await runCommand(['endpoints', 'check', webhookId], service.env);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^status +passed$/m);
    for (const name of CHECK_CASE_NAMES) expect(stdout).toMatch(new RegExp(`^${name}\\ttrue\\t`, 'm'));
    const entries = await prisma.auditEntry.findMany({ where: { action: 'endpoints.check' } });
    expect(entries.map(({ target, actor }) => [target, actor.startsWith('cli:')])).toEqual([[webhookId, true]]);
  });

  it('exits with 1 if a case fails, and prints the report and one line that names the failed cases', async () => {
    const webhookId = await register('accepts any signature');
    const { code, stdout, stderr } = await runCommand(['endpoints', 'check', webhookId, '--json'], service.env);
    expect([code, stderr]).toEqual([1, '2 of 9 cases failed: wrong_secret, changed_body\n']);
    const report = JSON.parse(stdout);
    expect([report.webhookId, report.status, report.cases.length]).toEqual([webhookId, 'failed', 9]);
    expect(stdout).not.toMatch(/v0=[0-9a-f]{64}/);
  });

  it('exits with 1 in production', async () => {
    const production = { ...service.env, ENVIRONMENT: 'production' };
    const { code, stderr } = await runCommand(['endpoints', 'check', newId()], production);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^checks run in the sandbox only[^\n]*\n$/)]);
  });
});
