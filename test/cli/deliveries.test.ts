import pg from 'pg';
import { readStarts, startDeliverEvent } from '../../src/delivery/workflow-starter.js';
import { newId } from '../../src/platform/ids.js';
import { commandsIn } from '../support/command.js';
import { type CommittedEvent, commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { MASTER_KEY } from '../support/factories.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { onLinux, showOnTerminal } from '../support/terminal.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let temporal: TestTemporal;
let env: Record<string, string>;
let run: ReturnType<typeof commandsIn>['run'];
let json: ReturnType<typeof commandsIn>['json'];

beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
  env = {
    ...{ ENVIRONMENT: 'sandbox', DATABASE_URL: db.url.reveal(), MASTER_KEY },
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
  };
  ({ run, json } = commandsIn(env));
}, 120_000);
afterAll(async () => {
  await temporal.close();
  await db.drop();
});

const transferOf = ({ body }: CommittedEvent): string => JSON.parse(body).data.id;

describe('deliveries', () => {
  it('lists the events that have a workflow in Temporal and no row in the database', async () => {
    const events = [await commitEvent(db), await commitEvent(db, { endpoints: 2 })];
    const eventIds = events.map(({ eventId }) => eventId);
    const rows = await db.prisma.event.findMany({ where: { id: { in: eventIds } } });
    const starts = await readStarts(
      db,
      rows.map((row) => ({ ...row, eventId: row.id })),
    );
    for (const start of starts) await startDeliverEvent(temporal.client, start, 'start');
    const list = () => json<object[]>('deliveries', 'lost', '--since', '1h');
    expect(await list()).toEqual([]);
    await db.prisma.delivery.deleteMany({ where: { eventId: eventIds[0]! } });
    await db.prisma.event.delete({ where: { id: eventIds[0]! } });
    const lost = await waitFor('Temporal to list the workflow', async () => {
      const found = await list();
      return found.length > 0 && found;
    });
    expect(lost).toMatchObject([
      { event_id: eventIds[0], client_id: events[0]!.clientId, transfer_id: transferOf(events[0]!) },
    ]);
    for (const id of eventIds) await temporal.client.workflow.getHandle(id).terminate();
    await db.prisma.delivery.deleteMany();
    await db.prisma.event.deleteMany();
  });

  it('lists deliveries by every filter, shows one with its attempts, and retries it', async () => {
    const [waiting, failed] = [await commitEvent(db), await commitEvent(db)];
    const [waitingId, failedId] = [waiting.deliveries[0]!.deliveryId, failed.deliveries[0]!.deliveryId];
    const startedAt = new Date();
    const attempt = { number: 1, trigger: 'schedule', url: 'https://hooks.example.com/in', t: startedAt.toISOString() };
    const response = {
      responseStatus: 503,
      error: 'status',
      detail: 'The head is odd.',
      responseBody: 'down\nfor now',
    };
    await db.prisma.attempt.create({
      data: { ...attempt, ...response, deliveryId: failedId, startedAt, durationMs: 12 },
    });
    await db.prisma.delivery.update({
      where: { id: failedId },
      data: { status: 'failed', attemptCount: 1, nextAttemptAt: null },
    });
    const { endpointId } = waiting.deliveries[0]!;
    const filters: [string[], string[]][] = [
      [[], [failedId, waitingId]],
      [['--status', 'failed'], [failedId]],
      [['--client', waiting.clientId, '--event', waiting.eventId], [waitingId]],
      [['--endpoint', endpointId, '--transfer', transferOf(waiting), '--since', '1h'], [waitingId]],
      [['--event', waiting.eventId, '--transfer', transferOf(failed)], []],
      [['--since', '0s'], []],
    ];
    for (const [filter, ids] of filters) {
      const rows = await json<{ id: string }[]>('deliveries', 'list', ...filter);
      expect([filter, rows.map(({ id }) => id)]).toEqual([filter, ids]);
    }
    expect(await json('deliveries', 'show', failedId)).toMatchObject({
      ...{ id: failedId, client_id: failed.clientId, planned_attempts: [] },
      attempts: [{ number: 1, response_status: 503, error: 'status', detail: 'The head is odd.' }],
    });
    expect((await run('deliveries', 'show', failedId)).stdout).toContain(
      `1\tschedule\t${startedAt.toISOString()}\t12\t503\tstatus\tThe head is odd.\tdown for now`,
    );
    expect(await json('deliveries', 'retry', failedId)).toEqual({ id: failedId, retried: true });
    const queued = await db.prisma.queuedAttempt.findUnique({ where: { deliveryId: failedId } });
    expect(queued).toMatchObject({ line: 'fresh', trigger: 'manual' });
    expect(await json('audit', 'list', '--target', failedId)).toMatchObject([{ action: 'deliveries.retry' }]);
  });

  onLinux('prints a table with headers on a terminal, else lines of cells separated by tabs', async () => {
    const { clientId, deliveries } = await commitEvent(db, { url: 'https://sleepy.example.com/in' });
    const id = deliveries[0]!.deliveryId;
    const nextAttemptAt = new Date(Date.now() + 3_600_000 * 5.9);
    await db.prisma.delivery.update({ where: { id }, data: { attemptCount: 3, nextAttemptAt } });
    const args = ['deliveries', 'list', '--client', clientId];
    const [header, row] = showOnTerminal(args, env, 110).split('\n');
    expect(header).toBe(`ID${' '.repeat(36)}STATUS   ATTEMPT_COUNT  NEXT_ATTEMPT_AT  URL`);
    expect(row).toBe(`${id}  pending  3              in 6 h           https://sleepy.example.com/in`);
    const cells = [id, 'pending', '3', nextAttemptAt.toISOString(), '', '', 'https://sleepy.example.com/in'];
    expect((await run(...args)).stdout).toBe(`${cells.join('\t')}\n`);
  });

  it('reports an error in one line', async () => {
    const unknown = { code: 1, stdout: '' };
    expect(await run('deliveries', 'show', 'x')).toEqual({ ...unknown, stderr: 'There is no such delivery.\n' });
    expect(await run('deliveries', 'list', '--client', newId())).toEqual({
      ...{ ...unknown, stderr: 'There is no such client.\n' },
    });
  });
});

describe('doctor', () => {
  type Report = { ok: boolean; checks: { check: string; ok: boolean; detail: string }[] };
  const failed = ({ checks }: Report) => checks.filter(({ ok }) => !ok).map(({ check }) => check);
  async function examine(change: Record<string, string>): Promise<Report & { code: number | null; stderr: string }> {
    const { code, stdout, stderr } = await commandsIn({ ...env, ...change }).run('doctor', '--json');
    return { ...(JSON.parse(stdout) as Report), code, stderr };
  }

  it('exits with 0 if every check passes, and regression: names a master key that opens nothing', async () => {
    const server = new URL(db.url.reveal());
    server.pathname = `/doctor_${Date.now()}`;
    await db.pool.query(`create database ${server.pathname.slice(1)}`);
    const change = { DATABASE_URL: server.href };
    expect((await commandsIn({ ...env, ...change }).run('migrate')).code).toBe(0);
    expect(await examine(change)).toMatchObject({ ok: true, code: 0, stderr: '' });
    const sealed = new pg.Client({ connectionString: server.href });
    await sealed.connect();
    await sealed.query(
      `insert into signing_keys (kid, public_jwk, private_key_envelope) values ('k', '{}', 'v1:00000000:AAAA')`,
    );
    await sealed.end();
    expect(failed(await examine(change))).toEqual(['master key']);
    await db.pool.query(`drop database ${server.pathname.slice(1)} with (force)`);
  });

  it('warns of a Postgres that loses acknowledged requests in a crash', async () => {
    const server = new URL(db.url.reveal());
    server.search = `options=${encodeURIComponent('-c synchronous_commit=off')}`;
    const { checks } = await examine({ DATABASE_URL: server.href });
    // The servers of the tests never flush.
    expect(checks.find(({ check }) => check === 'durability')).toEqual({
      ...{ check: 'durability', ok: true, warning: true },
      detail: expect.stringMatching(/^fsync, full_page_writes, synchronous_commit: off, /),
    });
  });

  it.each([
    // This database was made without Prisma's table of migrations.
    ['migrations', {}],
    ['configuration', { ENVIRONMENT: 'staging' }],
    ['Postgres', { DATABASE_URL: 'postgresql://nobody:secret@127.0.0.1:1/nothing' }],
    ['namespace', { TEMPORAL_NAMESPACE: 'not-there' }],
    ['Temporal', { TEMPORAL_ADDRESS: '127.0.0.1:1' }],
  ])('reports a failed check of %s', async (check, change) => {
    const report = await examine(change);
    expect(failed(report)).toContain(check);
    expect([report.code, report.stderr]).toEqual([1, expect.stringMatching(/^\d of \d+ checks failed\n$/)]);
    expect(JSON.stringify(report)).not.toContain('secret');
  });
});
