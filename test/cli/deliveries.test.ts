import pg from 'pg';
import { readStarts, startDeliverEvent } from '../../src/delivery/workflow-starter.js';
import { newId } from '../../src/platform/ids.js';
import { runCommand } from '../support/command.js';
import { type CommittedEvent, commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { onLinux, showOnTerminal } from '../support/terminal.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let temporal: TestTemporal;
let env: Record<string, string>;

beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
  env = {
    ENVIRONMENT: 'sandbox',
    DATABASE_URL: db.url.reveal(),
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'),
  };
}, 120_000);
afterAll(async () => {
  await temporal.close();
  await db.drop();
});

const transferOf = ({ body }: CommittedEvent): string => JSON.parse(body).data.id;

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCommand([...args, '--json'], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

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
    expect(await json('deliveries', 'lost', '--since', '1h')).toEqual([]);
    await db.prisma.delivery.deleteMany({ where: { eventId: eventIds[0]! } });
    await db.prisma.event.delete({ where: { id: eventIds[0]! } });
    const lost = await waitFor('Temporal to list the workflow', async () => {
      const found = await json<object[]>('deliveries', 'lost', '--since', '1h');
      return found.length > 0 && found;
    });
    const { clientId: client_id } = events[0]!;
    const transfer_id = transferOf(events[0]!);
    expect(lost).toMatchObject([{ event_id: eventIds[0], client_id, transfer_id, type: 'transfer.status_changed' }]);
    for (const id of eventIds) await temporal.client.workflow.getHandle(id).terminate();
    await db.prisma.delivery.deleteMany();
    await db.prisma.event.deleteMany();
  });

  it('lists deliveries by status and client, shows one with its attempts, and retries it', async () => {
    const [waiting, failed] = [await commitEvent(db), await commitEvent(db)];
    const [waitingId, failedId] = [waiting.deliveries[0]!.deliveryId, failed.deliveries[0]!.deliveryId];
    const startedAt = new Date();
    const attempt = { number: 1, trigger: 'schedule', url: 'https://hooks.example.com/in', t: startedAt.toISOString() };
    await db.prisma.attempt.create({
      data: {
        ...attempt,
        deliveryId: failedId,
        startedAt,
        durationMs: 12,
        responseStatus: 503,
        error: 'status',
        detail: 'The head is odd.',
        responseBody: 'down\nfor the night',
      },
    });
    await db.prisma.delivery.update({
      where: { id: failedId },
      data: { status: 'failed', attemptCount: 1, nextAttemptAt: null },
    });

    const ids = (rows: { id: string }[]) => rows.map(({ id }) => id);
    expect(ids(await json('deliveries', 'list'))).toEqual([failedId, waitingId]);
    expect(ids(await json('deliveries', 'list', '--status', 'failed'))).toEqual([failedId]);
    const { endpointId } = waiting.deliveries[0]!;
    const filters = [
      ['--client', waiting.clientId, '--event', waiting.eventId],
      ['--endpoint', endpointId, '--transfer', transferOf(waiting), '--since', '1h'],
      ['--event', waiting.eventId, '--transfer', transferOf(failed)],
      ['--since', '0s'],
    ];
    const found = await Promise.all(filters.map((filter) => json<{ id: string }[]>('deliveries', 'list', ...filter)));
    expect(found.map(ids)).toEqual([[waitingId], [waitingId], [], []]);
    expect(await json('deliveries', 'show', failedId)).toMatchObject({
      id: failedId,
      client_id: failed.clientId,
      attempts: [{ number: 1, response_status: 503, error: 'status', detail: 'The head is odd.' }],
      planned_attempts: [],
    });
    const { stdout: shown } = await runCommand(['deliveries', 'show', failedId], env);
    expect(shown).toContain(
      `1\tschedule\t${startedAt.toISOString()}\t12\t503\tstatus\tThe head is odd.\tdown for the night`,
    );

    expect(await json('deliveries', 'retry', failedId)).toEqual({ id: failedId, retried: true });
    expect(await db.prisma.queuedAttempt.findUnique({ where: { deliveryId: failedId } })).toMatchObject({
      line: 'fresh',
      trigger: 'manual',
    });
    expect(await json('audit', 'list', '--target', failedId)).toMatchObject([
      { action: 'deliveries.retry', details: { event_id: failed.eventId, client_id: failed.clientId } },
    ]);
  });

  onLinux(
    'prints deliveries as a table with headers on a terminal, else as lines of cells separated by tabs',
    async () => {
      const { clientId, deliveries } = await commitEvent(db, { url: 'https://sleepy.example.com/in' });
      const id = deliveries[0]!.deliveryId;
      const nextAttemptAt = new Date(Date.now() + 3_600_000 * 5.9);
      await db.prisma.delivery.update({ where: { id }, data: { attemptCount: 3, nextAttemptAt } });
      const args = ['deliveries', 'list', '--client', clientId];
      const [header, row] = showOnTerminal(args, env, 110).split('\n');
      expect(header).toBe(`ID${' '.repeat(36)}STATUS   ATTEMPT_COUNT  NEXT_ATTEMPT_AT  URL`);
      expect(row).toBe(`${id}  pending  3              in 6 h           https://sleepy.example.com/in`);
      const { stdout } = await runCommand(args, env);
      expect(stdout).toBe(
        `${[id, 'pending', '3', nextAttemptAt.toISOString(), '', '', 'https://sleepy.example.com/in'].join('\t')}\n`,
      );
      const shown = showOnTerminal(['deliveries', 'show', id], env, 130);
      expect(shown).toContain(`next_attempt_at  in 6 h (${nextAttemptAt.toISOString().slice(0, 19)}Z)\n`);
      expect(shown).toMatch(/planned_attempts:\nNUMBER +AT\n4 +in 6 h/);
    },
  );

  it('reports an error in one line', async () => {
    const unknown = await runCommand(['deliveries', 'show', 'nonsense'], env);
    expect(unknown).toEqual({ code: 1, stdout: '', stderr: 'There is no such delivery.\n' });
    const ofNobody = await runCommand(['deliveries', 'list', '--client', newId()], env);
    expect(ofNobody).toEqual({ code: 1, stdout: '', stderr: 'There is no such client.\n' });
    expect((await runCommand(['deliveries', 'list', '--status', 'lost'], env)).code).toBe(2);
  });
});

describe('doctor', () => {
  interface Report {
    ok: boolean;
    checks: { check: string; ok: boolean; detail: string }[];
  }
  const failed = ({ checks }: Report) => checks.filter(({ ok }) => !ok).map(({ check }) => check);
  async function examine(change: Record<string, string>): Promise<Report & { code: number | null; stderr: string }> {
    const { code, stdout, stderr } = await runCommand(['doctor', '--json'], { ...env, ...change });
    return { ...(JSON.parse(stdout) as Report), code, stderr };
  }

  it('reports the failed checks and the remedy', async () => {
    const report = await examine({});
    // This database was made without Prisma's table of migrations.
    expect(failed(report)).toEqual(['migrations']);
    expect(report).toMatchObject({ ok: false, code: 1, stderr: expect.stringMatching(/^1 of \d+ checks failed\n$/) });
    expect(report.checks.find(({ check }) => check === 'migrations')?.detail).toContain('transfer-service migrate');
  });

  it('exits with 0 if every check passes, and regression: names a master key that opens nothing', async () => {
    const server = new URL(db.url.reveal());
    server.pathname = `/doctor_${Date.now()}`;
    await db.pool.query(`create database ${server.pathname.slice(1)}`);
    const change = { DATABASE_URL: server.href };
    expect((await runCommand(['migrate'], { ...env, ...change })).code).toBe(0);
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
    const durability = async (options: string) => {
      server.search = `options=${encodeURIComponent(options)}`;
      const { checks } = await examine({ DATABASE_URL: server.href });
      return checks.find(({ check }) => check === 'durability');
    };
    // The servers of the tests never flush.
    expect(await durability('-c synchronous_commit=off')).toEqual({
      ...{ check: 'durability', ok: true, warning: true },
      detail: expect.stringMatching(/^fsync, full_page_writes, synchronous_commit: off, /),
    });
    expect(await durability('-c synchronous_commit=local')).toMatchObject({
      detail: expect.stringMatching(/^fsync, full_page_writes: off, /),
    });
  });

  it.each([
    ['configuration', { ENVIRONMENT: 'staging' }],
    ['Postgres', { DATABASE_URL: 'postgresql://nobody:secret@127.0.0.1:1/nothing' }],
    ['namespace', { TEMPORAL_NAMESPACE: 'not-there' }],
    ['Temporal', { TEMPORAL_ADDRESS: '127.0.0.1:1' }],
  ])('reports a failed check of %s', async (check, change) => {
    const report = await examine(change);
    expect(failed(report)).toContain(check);
    expect(JSON.stringify(report)).not.toContain('secret');
  });
});
