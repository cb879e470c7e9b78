import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import { runCommand } from '../support/command.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeDelivered, makeEvent } from '../support/events.js';
import { makeClient, makeEndpoint } from '../support/factories.js';

const HOUR = 3_600_000;

let database: TestDatabase;
let env: Record<string, string>;
let webhookId: string;
const at = Date.now() - 2 * HOUR;

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url.reveal() };
  const clientId = await makeClient(database);
  ({ id: webhookId } = await makeEndpoint(database, clientId, { enabled: false }));
  await makeDelivered(database, { clientId, endpointId: webhookId, at, status: 'succeeded' });
  await makeEvent(database, clientId, at + 1);
});
afterAll(() => database.drop());

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

test('endpoints statement starts at the registration by default', async () => {
  const { createdAt } = await database.prisma.endpoint.findUniqueOrThrow({ where: { id: webhookId } });
  const { stdout } = await statement(webhookId, '--json');
  expect(JSON.parse(stdout)).toMatchObject({ since: createdAt.toISOString(), events: 0, complete: true });
});

test('endpoints statement exits with 2 for an empty or too long window, and with 1 for a window before the retention or an unknown endpoint', async () => {
  const refusals = [
    [[webhookId, '--since', '32d'], 2, 'error: a window can be at most 31 days\n'],
    [[webhookId, '--since', '1h', '--until', '2h'], 2, 'error: --until must be later than --since\n'],
    [[webhookId, '--since', '100d', '--until', '99d'], 1, /^since must not be before .* were made\.\n$/],
    [[newId(), '--since', '1h'], 1, 'There is no such webhook endpoint.\n'],
    [[webhookId, '--until', '1d'], 1, /^until must be later than since, which is .* by default\.\n$/],
  ] as const;
  for (const [args, code, line] of refusals) {
    const result = await statement(...args);
    expect(result).toEqual({ code, stdout: '', stderr: expect.stringMatching(line) });
  }
});
