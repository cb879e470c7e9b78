import { describe, expect, test } from '@jest/globals';
import { nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { readClientResults } from '../../src/endpoints/client-results.js';
import { COUNTED_PENDING, isFailing, listFailingEndpoints, readEndpointHealth } from '../../src/endpoints/health.js';
import { EndpointHours, HOUR } from '../../src/endpoints/hours.js';
import { newId } from '../../src/platform/ids.js';
import { makeBacklog } from '../support/backlog.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { makeDelivered } from '../support/events.js';
import { makeClient, makeEndpoint, outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

const db = await openTestDatabase();
const clientId = await makeClient(db);

const healthOf = async (endpointId: string, now?: number) =>
  (await readEndpointHealth(db, clientId, now === undefined ? {} : { now })).get(endpointId);

describe('readEndpointHealth', () => {
  it('shows the attempts of each of the last 24 hours, and none of the hour before', async () => {
    const { id } = await makeEndpoint(db, clientId);
    const now = Date.UTC(2026, 10, 22, 10, 30);
    const hours = new EndpointHours(db, silentLog);
    const ago = (count: number) => new Date(now - count * HOUR);
    for (const startedAt of [ago(0), ago(0), ago(23), ago(24)]) hours.count(id, outcome({ startedAt, durationMs: 20 }));
    hours.count(id, { ...refusedBy(503), startedAt: ago(2), durationMs: 5_000 });
    await hours.write();
    const health = await healthOf(id, now);
    expect(health).toMatchObject({ succeeded: 3, failed: 1 });
    expect(health?.hours.at(-1)).toEqual({ start: new Date(Date.UTC(2026, 10, 22, 10)), succeeded: 2, failed: 0 });
    expect(health?.hours.at(-3)).toMatchObject({ succeeded: 0, failed: 1 });
    expect(health?.hours[0]).toMatchObject({ succeeded: 1, failed: 0 });
    expect(health?.answerTime).toEqual({ p50: 18, p95: expect.closeTo(5_000, -3) });
    expect(health?.lastSuccessAt).toEqual(new Date(now + 20));
    expect(health?.lastFailure).toMatchObject({ error: 'status', responseStatus: 503 });
  });

  it('counts pending deliveries up to its bound, and says when the next attempt is planned', async () => {
    const { id } = await makeEndpoint(db, clientId);
    await makeBacklog(db, id, 3);
    const soon = new Date('2026-11-22T10:05:00Z');
    const [first] = await db.prisma.delivery.findMany({ where: { endpointId: id }, take: 1 });
    await db.prisma.delivery.update({ where: { id: first!.id }, data: { nextAttemptAt: soon } });
    expect((await healthOf(id))?.pending).toEqual({ count: 3, more: false, nextAttemptAt: soon });
    await makeBacklog(db, id, COUNTED_PENDING);
    expect((await healthOf(id))?.pending).toMatchObject({ count: COUNTED_PENDING, more: true });
  });

  it('names the start of the current run of failures, also from removed hours and in any order of writes', async () => {
    const { id } = await makeEndpoint(db, clientId);
    const now = Date.UTC(2026, 10, 22, 10, 30);
    const at = (hoursAgo: number, minutes = 0) => new Date(now - hoursAgo * HOUR + minutes * 60_000);
    const count = async (...attempts: [Date, 'ok' | 'fails'][]) => {
      const hours = new EndpointHours(db, silentLog);
      for (const [startedAt, result] of attempts)
        hours.count(id, { ...(result === 'ok' ? outcome() : refusedBy(503)), startedAt, durationMs: 0 });
      await hours.write();
    };
    const since = async () => (await healthOf(id, now))?.failingSince;
    await count([at(60), 'fails'], [at(59), 'ok'], [at(58), 'fails'], [at(58, 1), 'fails']);
    await count([at(40), 'fails']);
    await db.query(`delete from endpoint_hours where endpoint_id = $1::uuid and hour < $2::timestamptz`, [
      id,
      at(48).toISOString(),
    ]);
    expect(await since()).toEqual(at(58));
    await count([at(2, 5), 'fails']);
    expect(await since()).toEqual(at(58));
    // Written by another process, and later than the failure after it.
    await count([at(2, 1), 'ok']);
    expect(await since()).toEqual(at(2, 5));
    await count([at(2, 3), 'fails'], [at(0, -1), 'fails']);
    expect(await since()).toEqual(at(2, 3));
    await count([at(0), 'ok']);
    expect(await since()).toBeNull();
  });
});

describe('listFailingEndpoints', () => {
  const now = Date.now();
  const thisHour = now - (now % HOUR);
  const ago = (hours: number, minutes = 0) => new Date(thisHour - hours * HOUR + minutes * 60_000);
  const ended = ({ startedAt }: { startedAt: Date }) => new Date(startedAt.getTime() + 12);
  const list = async (owner: string | undefined = undefined, before?: string, take = 10) =>
    listFailingEndpoints(db, { clientId: owner, before, take });

  /** Counts the attempts, each as its start and the status of its response, and returns the endpoint's id. */
  async function attempted(owner: string, attempts: readonly (readonly [Date, number])[], data = {}): Promise<string> {
    const { id } = await makeEndpoint(db, owner);
    await db.prisma.endpoint.update({ where: { id }, data });
    const hours = new EndpointHours(db, silentLog);
    for (const [startedAt, status] of attempts) {
      hours.count(id, { ...(status < 300 ? outcome() : refusedBy(status)), startedAt, durationMs: 12 });
    }
    await hours.write();
    return id;
  }

  it('lists endpoints of all clients whose latest attempt failed: since when and why', async () => {
    const [one, other] = [await makeClient(db), await makeClient(db)];
    const first = await attempted(one, [
      [ago(5, 10), 204],
      [ago(5, 20), 503],
      [ago(3), 500],
      [ago(1), 502],
    ]);
    const second = await attempted(other, [[ago(30), 410]], { enabled: false, disabledReason: 'gone' });
    await attempted(one, [
      [ago(2), 503],
      [ago(1), 204],
    ]);
    await attempted(one, [[ago(1), 503]], { enabled: false, disabledReason: 'owner' });
    await makeEndpoint(db, one);
    const sinceSuccess = ended({ startedAt: ago(5, 10) });
    const none = { pending: 0, firstEndsAt: null };
    const expected = [
      {
        ...none,
        ...{ id: second, failingSince: ended({ startedAt: ago(30) }), lastSuccessAt: null },
        lastFailure: { at: ended({ startedAt: ago(30) }), error: 'status', responseStatus: 410 },
      },
      {
        ...none,
        ...{ id: first, failingSince: ended({ startedAt: ago(5, 20) }), lastSuccessAt: sinceSuccess },
        lastFailure: { at: ended({ startedAt: ago(1) }), error: 'status', responseStatus: 502 },
      },
    ];
    expect(await list()).toEqual(expected);
    expect(await list(undefined, undefined, 1)).toEqual([expected[0]]);
    expect(await list(undefined, second)).toEqual([expected[1]]);
    expect(await list(one)).toEqual([expected[1]]);
    await makeBacklog(db, first, 1);
    const success = { status: 'succeeded', finishedAt: new Date(), nextAttemptAt: null, asleep: false } as const;
    await db.prisma.delivery.updateMany({ where: { endpointId: first }, data: success });
    expect(await list(one)).toEqual([]);
  });
});

describe('isFailing', () => {
  const DAY = 24 * HOUR;
  const LIMIT = 5 * DAY;

  /** An endpoint with deliveries that ended in these runs: each so many days before now, evenly spread. */
  async function endpointWith(...runs: (readonly ['succeeded' | 'failed', count: number, from: number, to: number])[]) {
    const { id } = await makeEndpoint(db, clientId);
    await db.prisma.endpoint.update({ where: { id }, data: { enabledAt: new Date(Date.now() - 90 * DAY) } });
    const { eventId } = await makeDelivered(db, {
      clientId,
      endpointId: id,
      at: Date.now() - 90 * DAY,
      status: 'pending',
    });
    for (const [status, count, from, to] of runs) {
      const times = Array.from({ length: count }, (_, i) => Date.now() - (from + ((to - from) * i) / count) * DAY);
      await db.prisma.delivery.createMany({
        data: times.map((at) => ({
          ...{ id: newId(Math.round(at)), eventId, endpointId: id, clientId, ladder: '0s', status },
          ...{ createdAt: new Date(at), finishedAt: new Date(at) },
        })),
      });
    }
    return id;
  }
  const failing = (id: string) => isFailing(db, id, LIMIT);

  test('is true after two failures with no success for DISABLE_AFTER', async () => {
    expect(await failing(await endpointWith(['failed', 2, 6, 0]))).toBe(true);
    expect(await failing(await endpointWith(['failed', 1, 6, 0]))).toBe(false);
    expect(await failing(await endpointWith(['failed', 300, 4, 0]))).toBe(false);
    expect(await failing(await endpointWith(['failed', 300, 6, 0]))).toBe(true);
    expect(await failing(await endpointWith(['succeeded', 1, 7, 6], ['failed', 300, 6, 0]))).toBe(true);
    expect(await failing(await endpointWith(['succeeded', 1, 3, 2], ['failed', 300, 6, 0]))).toBe(false);
  });

  test('is false after a manual retry of an old delivery succeeded, though newer ones succeeded before', async () => {
    const id = await endpointWith(['succeeded', 300, 9, 7], ['failed', 300, 6, 0]);
    const hours = new EndpointHours(db, silentLog);
    hours.count(id, outcome({ startedAt: new Date(Date.now() - DAY) }));
    await hours.write();
    expect(await failing(id)).toBe(false);
  });

  // Each exhausted delivery read all past successes and failures of its endpoint.
  test('reads a bounded number of rows, whatever the past of the endpoint', async () => {
    const id = await endpointWith(['succeeded', 5_000, 80, 7], ['failed', 3_000, 6.5, 0]);
    await db.query('analyze deliveries', []);
    const explained = openExplained(db.url.reveal());
    try {
      expect(await isFailing(explained, id, LIMIT)).toBe(true);
      const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
      expect(nodes.some((node) => node['Relation Name'] === 'deliveries')).toBe(true);
      expect(Math.max(...nodes.map(rowsOf))).toBeLessThanOrEqual(200);
    } finally {
      await explained.close();
    }
  });
});

describe('the gauge of clients', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

  test('counts clients by whether any of their attempts succeeded in the last 15 minutes', async () => {
    const hours = new EndpointHours(db, silentLog);
    const clientWith = async (...attempts: ReturnType<typeof outcome>[]) => {
      const clientId = await makeClient(db);
      // Each attempt is at its own endpoint.
      for (const attempt of attempts) hours.count((await makeEndpoint(db, clientId)).id, attempt);
    };
    await clientWith(outcome());
    await clientWith(refusedBy(500), outcome());
    await clientWith(refusedBy(500), refusedBy(401));
    await clientWith(outcome({ error: 'dns', responseStatus: null }), outcome({ startedAt: minutesAgo(20) }));
    await clientWith(outcome({ startedAt: minutesAgo(40) }));
    await clientWith({ ...refusedBy(500), startedAt: minutesAgo(90) });
    await hours.write();
    expect(await readClientResults(db)).toEqual({ reached: 2, failing: 2 });
  });
});
