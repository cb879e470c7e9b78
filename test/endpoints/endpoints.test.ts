import { describe, expect, it, test } from '@jest/globals';
import { cancelBacklogs, disableEndpoint } from '../../src/endpoints/disable.js';
import { type EndpointRules, setEndpointEnabledByOperator, updateEndpoint } from '../../src/endpoints/endpoints.js';
import { createLog } from '../../src/platform/telemetry/log.js';
import { countDeliveries, makeBacklog } from '../support/backlog.js';
import { openTestDatabase } from '../support/database.js';
import { BY_OPERATOR as by, makeClient, makeEndpoint, masterKeys, OPERATOR } from '../support/factories.js';
import { waitFor } from '../support/wait-for.js';

const db = await openTestDatabase();

const rules: EndpointRules = { httpsOnly: false, blocksLiteral: () => false, maxEndpoints: 20 };

const endpoint = async (enabled = true) => makeEndpoint(db, await makeClient(db), { enabled });

describe('the operator', () => {
  it('disables an endpoint that the client has disabled, so that the client cannot enable it', async () => {
    const { id, clientId, url } = await endpoint();
    const update = { by, clientId, id, url, description: null };
    await updateEndpoint(db, rules, masterKeys, { ...update, enabled: false });
    await setEndpointEnabledByOperator(db, OPERATOR, id, false);
    await expect(updateEndpoint(db, rules, masterKeys, { ...update, enabled: true })).rejects.toMatchObject({
      code: 'disabled_by_operator',
    });
  });
});

const periodsOf = async (endpointId: string) =>
  (await db.prisma.disabledPeriod.findMany({ where: { endpointId }, orderBy: { startedAt: 'asc' } })).map(
    ({ reason, endedAt }) => [reason, endedAt !== null],
  );

describe('the periods in which an endpoint was disabled', () => {
  it('are written with the reason of the service, in the transaction that disables', async () => {
    const { id } = await endpoint();
    await db.transaction((tx) => disableEndpoint(tx, id, 'gone'));
    expect(await periodsOf(id)).toEqual([['gone', false]]);
    const other = await endpoint();
    const rolledBack = db.transaction(async (tx) => {
      await disableEndpoint(tx, other.id, 'failing');
      throw new Error('the transaction fails');
    });
    await expect(rolledBack).rejects.toThrow();
    expect(await periodsOf(other.id)).toEqual([]);
  });

  it('begin anew when the reason changes', async () => {
    const { id } = await endpoint(false);
    await setEndpointEnabledByOperator(db, OPERATOR, id, false);
    await setEndpointEnabledByOperator(db, OPERATOR, id, false);
    expect(await periodsOf(id)).toEqual([
      ['owner', true],
      ['operator', false],
    ]);
    await setEndpointEnabledByOperator(db, OPERATOR, id, true);
    expect(await periodsOf(id)).toEqual([
      ['owner', true],
      ['operator', true],
    ]);
  });

  it('do not overlap, and end in the last state, if changes race', async () => {
    const { id, clientId, url } = await endpoint();
    const update = (enabled: boolean) =>
      updateEndpoint(db, rules, masterKeys, { by, clientId, id, url, description: null, enabled });
    await Promise.all(Array.from({ length: 24 }, (_, i) => update(i % 2 === 0)));
    await update(false);
    const periods = await db.prisma.disabledPeriod.findMany({
      where: { endpointId: id },
      orderBy: { startedAt: 'asc' },
    });
    expect(periods.filter(({ endedAt }) => endedAt === null)).toEqual([periods.at(-1)]);
    for (const [i, { startedAt }] of periods.entries()) {
      expect(startedAt.getTime()).toBeGreaterThanOrEqual(periods[i - 1]?.endedAt?.getTime() ?? 0);
    }
  });
});

describe('the cancellation of backlogs', () => {
  /** A disabled endpoint with so many deliveries left to cancel. */
  async function cancelling(left: number): Promise<string> {
    const { id } = await makeEndpoint(db, await makeClient(db));
    await makeBacklog(db, id, left + 1_000);
    await db.transaction((tx) => disableEndpoint(tx, id, 'owner'));
    return id;
  }

  /** Workers that run until `work` has ended. @returns the endpoints in order of completion */
  async function withWorkers(count: number, work: () => Promise<unknown>): Promise<string[]> {
    const done: string[] = [];
    const log = Object.assign(createLog('silent', 'test'), {
      info: ({ webhook_id }: { webhook_id: string }) => done.push(webhook_id),
    });
    const workers = Array.from({ length: count }, () => cancelBacklogs({ db, workers: { isFirst: true }, log }));
    for (const worker of workers) worker.start();
    try {
      await work();
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
    }
    return done;
  }

  const untilNoneIsLeft = () =>
    waitFor('all backlogs to be cancelled', async () => {
      const left = await db.prisma.endpoint.count({ where: { cancellingAfter: { not: null } } });
      return left === 0;
    });

  test('a small backlog does not wait for an older large one', async () => {
    const [large, small] = [await cancelling(5_000), await cancelling(500)];
    expect(await withWorkers(1, untilNoneIsLeft)).toEqual([small, large]);
    expect(await countDeliveries(db, large)).toEqual({ endpoint_disabled: 6_000 });
    expect(await countDeliveries(db, small)).toEqual({ endpoint_disabled: 1_500 });
  });

  test('several workers cancel each backlog once, and one continues where another stopped', async () => {
    const endpoints = [await cancelling(3_500), await cancelling(3_500)];
    const pending = async () =>
      db.prisma.delivery.count({ where: { endpointId: { in: endpoints }, status: 'pending' } });
    await withWorkers(1, () => waitFor('a batch', async () => (await pending()) < 7_000));
    expect(await pending()).toBeGreaterThan(0);
    const done = await withWorkers(3, untilNoneIsLeft);
    expect(done.sort()).toEqual(endpoints.sort());
    for (const id of endpoints) expect(await countDeliveries(db, id)).toEqual({ endpoint_disabled: 4_500 });
  });
});
