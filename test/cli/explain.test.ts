import { createHmac } from 'node:crypto';
import { MasterKeys } from '../../src/platform/database/encryption.js';
import { Secret } from '../../src/platform/secret.js';
import { runCommand } from '../support/command.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const MASTER_KEY = Buffer.from('0123456789abcdefghijklmnopqrstuv');
const SECRET = 'the-secret-of-the-endpoint';
const t = '2026-11-21T10:00:00.123Z';
let db: TestDatabase;
let deliveryId: string;
let v0: string;
const run = (...args: string[]) =>
  runCommand(['deliveries', 'explain', ...args], {
    ENVIRONMENT: 'sandbox',
    DATABASE_URL: db.url.reveal(),
    MASTER_KEY: MASTER_KEY.toString('base64'),
  });

beforeAll(async () => {
  db = await createTestDatabase();
  const event = await commitEvent(db);
  const { endpointId } = event.deliveries[0]!;
  ({ deliveryId } = event.deliveries[0]!);
  const secretEnvelope = new MasterKeys(new Secret<Uint8Array>(MASTER_KEY)).seal(new Secret(SECRET), endpointId);
  await db.prisma.endpoint.update({ where: { id: endpointId }, data: { secretEnvelope } });
  const attempt = { deliveryId, number: 1, trigger: 'schedule', url: 'https://example.com', t, durationMs: 1 };
  await db.prisma.attempt.create({ data: { ...attempt, startedAt: new Date() } });
  v0 = createHmac('sha256', SECRET).update(event.body).digest('hex');
});
afterAll(() => db.drop());

describe('deliveries explain', () => {
  it('names the mistake and shows no secret', async () => {
    const { code, stdout } = await run(deliveryId, '--attempt', '1', '--v0', v0, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ explanation: 'body_without_timestamp', detail: expect.any(String) });
    const text = await run(deliveryId, '--attempt', '1', '--v0', v0);
    expect(text.stdout).toMatch(/^body_without_timestamp: /);
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

  it('exits with 2 for a digest of more than 512 characters', async () => {
    const { code, stderr } = await run(deliveryId, '--attempt', '1', '--v0', 'a'.repeat(513));
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give at most 512 characters.')]);
  });
});
