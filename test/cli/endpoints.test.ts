import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { COUNTED_TO_CANCEL } from '../../src/endpoints/disable.js';
import { EndpointHours } from '../../src/endpoints/hours.js';
import { newId } from '../../src/platform/ids.js';
import { makeBacklog } from '../support/backlog.js';
import { commandsIn } from '../support/command.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { makeDelivered, makeEvent } from '../support/events.js';
import { ENDPOINT_SECRET, MASTER_KEY, makeClient, makeEndpoint, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { answerOnTerminal, onLinux } from '../support/terminal.js';

// Commands that need Postgres only.
const HOUR = 3_600_000;
const database = await openTestDatabase();
const env = { DATABASE_URL: database.url.reveal(), MASTER_KEY };
const { run, json } = commandsIn(env);
const make = async (fields = {}) => makeEndpoint(database, await makeClient(database), fields);

test.each([
  ['set-concurrency', 'max_concurrency', 100],
  ['set-rate', 'max_per_second', 1_000],
])('%s sets %s up to %d, and rejects an invalid limit', async (command, field, most) => {
  const { id } = await make();
  expect(await json('endpoints', command, id, `${most}`)).toMatchObject({ webhookId: id, [field]: most });
  expect(await json('endpoints', command, id, 'default')).toMatchObject({ [field]: null });
  for (const limit of ['0', `${most + 1}`, '1.5', 'none', '']) {
    const { code, stderr } = await run('endpoints', command, id, limit);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give a number from 1 to ')]);
  }
});

test('list --failing says which endpoints are failing, since when and why', async () => {
  const { id: webhookId, clientId } = await make();
  expect((await run('endpoints', 'list', '--failing')).stdout).toBe('none\n');
  const hours = new EndpointHours(database, silentLog);
  const startedAt = new Date();
  hours.count(webhookId, { ...refusedBy(503), startedAt, durationMs: 10 });
  await hours.write();
  const at = new Date(startedAt.getTime() + 10).toISOString();
  const last_failure = { at, error: 'status', response_status: 503 };
  expect(await json('endpoints', 'list', '--failing', '--client', clientId)).toMatchObject([
    { webhookId, client_id: clientId, enabled: true, failing_since: at, last_success_at: null, last_failure },
  ]);
});

onLinux('disable says on a terminal what it cancels, and asks', async () => {
  const { id, url } = await make();
  const isEnabled = async () => (await database.prisma.endpoint.findUniqueOrThrow({ where: { id } })).enabled;
  await makeBacklog(database, id, 1_018);
  const refused = answerOnTerminal(['endpoints', 'disable', id], env, 'no\n');
  expect(refused).toContain(`1,018 pending deliveries will be cancelled. Disable ${url}? Type yes: `);
  expect([refused.includes('nothing was changed'), await isEnabled()]).toEqual([true, true]);
  await makeBacklog(database, id, COUNTED_TO_CANCEL);
  expect(answerOnTerminal(['endpoints', 'disable', id], env, 'yes\n')).toContain('10,000 or more pending deliveries');
  expect(await isEnabled()).toBe(false);
});

describe('statement', () => {
  const at = Date.now() - 2 * HOUR;
  const statement = (...args: string[]) => run('endpoints', 'statement', ...args);

  test("prints the API's statement, for any client", async () => {
    const { id: webhookId, clientId } = await make({ enabled: false });
    await makeDelivered(database, { clientId, endpointId: webhookId, at, status: 'succeeded' });
    await makeEvent(database, clientId, at + 1);
    const [since, until] = [new Date(at).toISOString(), new Date(at + HOUR).toISOString()];
    expect(await json('endpoints', 'statement', webhookId, '--since', since, '--until', until)).toMatchObject({
      ...{ webhookId, since, until, events: 2, succeeded: 1, missing: 1, complete: false, final: true },
      disabled_periods: [],
    });
    const { stdout } = await statement(webhookId, '--since', '3h');
    expect(stdout).toMatch(/^events +2\n[\s\S]*^missing +1\n[\s\S]*Z\t.*\towner\n/m);
  });

  test('exits with 2 for an empty or too long window, and with 1 for what the data forbid', async () => {
    const { id } = await make();
    const refusals = [
      [[id, '--since', '32d'], 2, 'error: a window can be at most 31 days\n'],
      [[id, '--since', '1h', '--until', '2h'], 2, 'error: --until must be later than --since\n'],
      [[id, '--since', '100d', '--until', '99d'], 1, /^since: must not be before .* were made\.\n$/],
      [[newId(), '--since', '1h'], 1, 'There is no such webhook endpoint.\n'],
      [[id, '--until', '1d'], 1, 'until: must be later than since.\n'],
    ] as const;
    for (const [args, code, line] of refusals) {
      expect(await statement(...args)).toEqual({ code, stdout: '', stderr: expect.stringMatching(line) });
    }
  });
});

describe('recover, and `recoveries`', () => {
  async function missing() {
    const { id: webhookId, clientId } = await make();
    const at = Date.now() - 2 * HOUR;
    await makeDelivered(database, { clientId, endpointId: webhookId, at, status: 'failed' });
    await makeEvent(database, clientId, at + 1);
    return { webhookId, clientId };
  }

  test("start, list and cancel a recovery of any client's endpoint without Temporal, with audit entries", async () => {
    const { webhookId, clientId } = await missing();
    const recover = ['endpoints', 'recover', webhookId, '--since', '3h'];
    const started = { webhookId, client_id: clientId, count: 1, missing: 1, pending: 0 };
    const { id, ...result } = await json(...recover, '--include-missing');
    expect(result).toEqual(started);
    expect(await run(...recover)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^This endpoint has a running recovery/),
    });
    expect(await json('recoveries', 'list', '--endpoint', webhookId)).toMatchObject([
      { ...started, id, started: 0, status: 'running' },
    ]);
    const cancel = ['recoveries', 'cancel', `${id}`];
    expect((await run(...cancel)).stdout).toMatch(/^status +cancelled$/m);
    const again = await run(...cancel);
    expect([again.code, again.stderr]).toEqual([1, 'The recovery is cancelled; there is nothing to cancel.\n']);
    const entries = await database.prisma.auditEntry.findMany({ where: { target: webhookId }, orderBy: { id: 'asc' } });
    expect(entries.map(({ action }) => action)).toEqual(['endpoints.recover', 'endpoints.cancel-recovery']);
  });

  test.each([
    [['--since', '1h', '--until', '2h'], '--until must be later'],
    [['--since', '40d', '--include-missing'], 'at most 31 days'],
    [[], "required option '--since <time>' not specified"],
  ])('exits with 2 for invalid arguments: %j', async (args, line) => {
    const { code, stderr } = await run('endpoints', 'recover', newId(), ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(line)]);
  });
});

test('`deliveries explain` names the mistake and shows no secret', async () => {
  const { deliveries, body } = await commitEvent(database);
  const { deliveryId } = deliveries[0]!;
  const attempt = { number: 1, trigger: 'schedule', url: 'https://example.com', t: new Date().toISOString() };
  await database.prisma.attempt.create({ data: { ...attempt, deliveryId, durationMs: 1, startedAt: new Date() } });
  const v0 = createHmac('sha256', ENDPOINT_SECRET).update(body).digest('hex');
  const explain = (...args: string[]) => run('deliveries', 'explain', deliveryId, '--v0', v0, ...args);
  const { code, stdout } = await explain('--attempt', '1');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^explanation +body_without_timestamp\n/)]);
  expect(stdout).not.toContain(ENDPOINT_SECRET);
  expect(await explain('--attempt', '2')).toMatchObject({ code: 1, stderr: 'There is no such attempt.\n' });
  expect(await explain('--attempt', 'x')).toMatchObject({ code: 2 });
});
