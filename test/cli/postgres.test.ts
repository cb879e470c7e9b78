import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { MasterKeys } from '../../src/platform/database/encryption.js';
import { newId } from '../../src/platform/ids.js';
import { Secret } from '../../src/platform/secret.js';
import { runCommand } from '../support/command.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { makeDelivered, makeEvent } from '../support/events.js';
import { makeClient, makeEndpoint, makeTransfer } from '../support/factories.js';
import { answerOnTerminal, onLinux } from '../support/terminal.js';

const HOUR = 3_600_000;
const MASTER_KEY = Buffer.from('0123456789abcdefghijklmnopqrstuv');
const db = await openTestDatabase();
let env: Record<string, string>;

beforeAll(async () => {
  env = {
    ...{ ENVIRONMENT: 'sandbox', DATABASE_URL: db.url.reveal() },
    ...{ MASTER_KEY: MASTER_KEY.toString('base64'), SUDO_USER: 'ada' },
  };
});

// Commands that need Postgres only.

describe('endpoints statement', () => {
  const at = Date.now() - 2 * HOUR;

  let webhookId: string;
  beforeAll(async () => {
    const clientId = await makeClient(db);
    ({ id: webhookId } = await makeEndpoint(db, clientId, { enabled: false }));
    await makeDelivered(db, { clientId, endpointId: webhookId, at, status: 'succeeded' });
    await makeEvent(db, clientId, at + 1);
  });

  const statement = (...args: string[]) => runCommand(['endpoints', 'statement', ...args], env);

  test("endpoints statement prints the API's statement, for any client", async () => {
    const window = ['--since', new Date(at).toISOString(), '--until', new Date(at + HOUR).toISOString()];
    const { code, stdout, stderr } = await statement(webhookId, ...window, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      webhookId,
      since: new Date(at).toISOString(),
      until: new Date(at + HOUR).toISOString(),
      events: 2,
      succeeded: 1,
      missing: 1,
      complete: false,
      final: true,
      disabled_periods: [],
    });
  });

  test('endpoints statement prints one number per line and the disabled periods', async () => {
    const { code, stdout } = await statement(webhookId, '--since', '3h');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^events +2\n/m);
    expect(stdout).toMatch(/^missing +1\n/m);
    expect(stdout).toMatch(/Z\t.*\towner\n/);
  });

  test('endpoints statement exits with 2 for an empty or too long window, and with 1 for a window before the retention or an unknown endpoint', async () => {
    const refusals = [
      [[webhookId, '--since', '32d'], 2, 'error: a window can be at most 31 days\n'],
      [[webhookId, '--since', '1h', '--until', '2h'], 2, 'error: --until must be later than --since\n'],
      [[webhookId, '--since', '100d', '--until', '99d'], 1, /^since: must not be before .* were made\.\n$/],
      [[newId(), '--since', '1h'], 1, 'There is no such webhook endpoint.\n'],
      [[webhookId, '--until', '1d'], 1, 'until: must be later than since.\n'],
    ] as const;
    for (const [args, code, line] of refusals) {
      const result = await statement(...args);
      expect(result).toEqual({ code, stdout: '', stderr: expect.stringMatching(line) });
    }
  });
});

describe('deliveries explain', () => {
  const SECRET = 'the-secret-of-the-endpoint';
  const t = '2026-11-21T10:00:00.123Z';
  let deliveryId: string;
  let v0: string;

  const run = (...args: string[]) => runCommand(['deliveries', 'explain', ...args], env);

  beforeAll(async () => {
    const event = await commitEvent(db);
    const { endpointId } = event.deliveries[0]!;
    ({ deliveryId } = event.deliveries[0]!);
    const secretEnvelope = new MasterKeys(new Secret<Uint8Array>(MASTER_KEY)).seal(new Secret(SECRET), endpointId);
    await db.prisma.endpoint.update({ where: { id: endpointId }, data: { secretEnvelope } });
    const attempt = { deliveryId, number: 1, trigger: 'schedule', url: 'https://example.com', t, durationMs: 1 };
    await db.prisma.attempt.create({ data: { ...attempt, startedAt: new Date() } });
    v0 = createHmac('sha256', SECRET).update(event.body).digest('hex');
  });

  it('names the mistake and shows no secret', async () => {
    const { code, stdout } = await run(deliveryId, '--attempt', '1', '--v0', v0, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ explanation: 'body_without_timestamp', detail: expect.any(String) });
    const text = await run(deliveryId, '--attempt', '1', '--v0', v0);
    expect(text.stdout).toMatch(/^explanation +body_without_timestamp\n/);
    expect(stdout + text.stdout).not.toContain(SECRET);
  });

  it('exits with 1 for an unknown attempt and with 2 for an invalid number', async () => {
    expect(await run(deliveryId, '--attempt', '2', '--v0', v0)).toMatchObject({
      code: 1,
      stderr: 'There is no such attempt.\n',
    });
    expect(await run(deliveryId, '--attempt', 'x', '--v0', v0)).toMatchObject({ code: 2 });
    expect(await run(deliveryId, '--v0', v0)).toMatchObject({ code: 2 });
  });
});

describe('clients erase and transfers expire', () => {
  async function revokedClient(): Promise<string> {
    const id = await makeClient(db);
    await makeTransfer(db, id, 'COMPLETED');
    await db.prisma.client.update({ where: { id }, data: { revokedAt: new Date(Date.now() - 60_000) } });
    return id;
  }

  const erasedAt = async (id: string) => (await db.prisma.client.findUniqueOrThrow({ where: { id } })).erasedAt;

  test('`clients erase` prints how many rows it changed', async () => {
    const id = await revokedClient();
    const { code, stdout } = await runCommand(['clients', 'erase', id, '--yes', '--json'], env);
    expect([code, JSON.parse(stdout)]).toEqual([0, { client_id: id, transfers: 1, endpoints: 0 }]);
    const shown = await runCommand(['clients', 'show', id, '--json'], env);
    expect(JSON.parse(shown.stdout)).toMatchObject({ name: 'erased', erased_at: expect.any(String) });
  });

  onLinux('on a terminal it erases only after `yes`', async () => {
    const id = await revokedClient();
    const answer = (input: string) => answerOnTerminal(['clients', 'erase', id], env, input);
    expect(answer('no\n')).toContain('nothing was changed');
    expect(await erasedAt(id)).toBeNull();
    expect(answer('yes\n')).toMatch(/^transfers +1\r$/m);
    expect(await erasedAt(id)).not.toBeNull();
  });

  test('`transfers expire` needs TRANSFER_RETENTION and prints how many transfers it removed', async () => {
    const { code, stderr } = await runCommand(['transfers', 'expire'], env);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^TRANSFER_RETENTION: is not set[^\n]*\n$/)]);
    const expired = await runCommand(['transfers', 'expire', '--json'], { ...env, TRANSFER_RETENTION: '3650d' });
    expect(expired).toEqual({ code: 0, stdout: '{\n  "removed": 0\n}\n', stderr: '' });
  });

  test('`audit expire` needs AUDIT_RETENTION and prints how many entries it removed', async () => {
    const { code, stderr } = await runCommand(['audit', 'expire'], env);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^AUDIT_RETENTION: is not set[^\n]*\n$/)]);
    const expired = await runCommand(['audit', 'expire', '--json'], { ...env, AUDIT_RETENTION: '3650d' });
    expect(expired).toEqual({ code: 0, stdout: '{\n  "removed": 0\n}\n', stderr: '' });
  });
});
