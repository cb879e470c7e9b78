import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runCommand } from '../support/command.js';
import { type MortalService, startMortalService } from '../support/mortal-service.js';
import { onLinux, untilOnTerminal } from '../support/terminal.js';

let service: MortalService;
let deliveryId: string;
beforeAll(async () => {
  service = await startMortalService();
  service.responses.statuses = [204, 204, 503];
  const transfer = await service.makeTransfer();
  await service.change(transfer);
  deliveryId = (await service.untilDelivered(transfer)).id;
}, 120_000);
afterAll(() => service?.stop());

const retry = (...args: string[]) => runCommand(['deliveries', 'retry', deliveryId, '--wait', ...args], service.env);

describe('`deliveries retry --wait`', () => {
  test('exits with 0 if the attempt succeeds and with 1 if it fails', async () => {
    const { code, stdout, stderr } = await retry();
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^delivered, attempt 2: 204 in \d+ ms\n$/), '']);
    const failed = await retry('--json');
    expect([failed.code, failed.stderr]).toEqual([1, 'the attempt failed: 503\n']);
    const attempt = { number: 3, trigger: 'manual', response_status: 503, error: 'status' };
    expect(JSON.parse(failed.stdout)).toMatchObject({ id: deliveryId, retried: true, attempt });
  });

  onLinux('shows progress on a terminal while no worker runs', async () => {
    await service.stopService();
    const args = ['deliveries', 'retry', deliveryId, '--wait'];
    await untilOnTerminal(
      args,
      service.env,
      /waiting for the attempt … (\d+) s\r\nwaiting for the attempt … (?!\1 )\d+ s\r\n/,
    );
  });
});
