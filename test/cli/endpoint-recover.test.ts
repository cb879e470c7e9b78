import { beforeEach, describe, expect, it } from '@jest/globals';
import { runCommand } from '../support/command.js';
import { openTestDatabase } from '../support/database.js';
import { makeDelivered, makeEvent } from '../support/events.js';
import { makeClient, makeEndpoint } from '../support/factories.js';

const HOUR = 3_600_000;

const database = await openTestDatabase();
let clientId: string;
let webhookId: string;

beforeEach(async () => {
  clientId = await makeClient(database);
  ({ id: webhookId } = await makeEndpoint(database, clientId));
  const at = Date.now() - 2 * HOUR;
  await makeDelivered(database, { clientId, endpointId: webhookId, at, status: 'failed' });
  await makeEvent(database, clientId, at + 1);
});

const recoveries = (...args: string[]) => runCommand(['recoveries', ...args], { DATABASE_URL: database.url.reveal() });

describe('`recoveries`', () => {
  it('lists and cancels a recovery without Temporal, once, and leaves an audit entry', async () => {
    const { id } = JSON.parse((await recover(webhookId, '--since', '3h', '--json')).stdout);
    const listed = JSON.parse((await recoveries('list', '--endpoint', webhookId, '--json')).stdout);
    const running = {
      id,
      webhookId,
      client_id: clientId,
      count: 1,
      missing: 0,
      pending: 0,
      started: 0,
      status: 'running',
    };
    expect(listed).toMatchObject([running]);
    expect((await recoveries('cancel', id)).stdout).toMatch(/^status +cancelled$/m);
    const again = await recoveries('cancel', id);
    expect([again.code, again.stderr]).toEqual([1, 'The recovery is cancelled; there is nothing to cancel.\n']);
    expect(await database.prisma.workflowStart.count({ where: { endpointId: webhookId } })).toBe(0);
    const [entry] = await database.prisma.auditEntry.findMany({ where: { action: 'endpoints.cancel-recovery' } });
    expect(entry).toMatchObject({ target: webhookId, actor: expect.stringMatching(/^cli:/) });
  });
});

/** The commands need Postgres only. */
const recover = (...args: string[]) =>
  runCommand(['endpoints', 'recover', ...args], { DATABASE_URL: database.url.reveal() });

describe('`endpoints recover`', () => {
  it("starts a recovery of any client's endpoint without Temporal, and leaves an audit entry", async () => {
    const { code, stdout, stderr } = await recover(webhookId, '--since', '3h', '--include-missing', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      id: expect.any(String),
      webhookId,
      client_id: clientId,
      count: 1,
      missing: 1,
      pending: 0,
    });
    const start = await database.prisma.workflowStart.findMany({ where: { endpointId: webhookId } });
    expect(start).toMatchObject([{ type: 'recoverEndpoint', input: { includeMissing: true } }]);
    const [entry] = await database.prisma.auditEntry.findMany({ where: { target: webhookId } });
    expect(entry).toMatchObject({ action: 'endpoints.recover', actor: expect.stringMatching(/^cli:/) });
    const again = await recover(webhookId, '--since', '3h');
    expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/^This endpoint has a running recovery/)]);
  });

  it.each([
    [['--since', '1h', '--until', '2h'], '--until must be later'],
    [['--since', '40d', '--include-missing'], 'at most 31 days'],
    [[], "required option '--since <time>' not specified"],
  ])('exits with 2 for invalid arguments: %j', async (args, line) => {
    const { code, stderr } = await recover(webhookId, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(line)]);
  });
});
