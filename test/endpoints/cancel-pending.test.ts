import { describe, expect, it, test } from '@jest/globals';
import { nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { recordAttempts } from '../../src/delivery/record.js';
import { CANCELLED_AT_ONCE, cancelPending, disableEndpoint } from '../../src/endpoints/disable.js';
import {
  deleteEndpoint,
  type EndpointRules,
  setEndpointEnabledByOperator,
  updateEndpoint,
} from '../../src/endpoints/endpoints.js';
import type { Endpoint } from '../../src/platform/database/generated/client.js';
import { newId } from '../../src/platform/ids.js';
import { countDeliveries, makeBacklog } from '../support/backlog.js';
import { openTestDatabase } from '../support/database.js';
import { BY_OPERATOR, makeClient, makeEndpoint, masterKeys, OPERATOR, refusedBy } from '../support/factories.js';
import { ENDED } from '../support/made-attempt.js';

const db = await openTestDatabase();
const rules: EndpointRules = { httpsOnly: false, blocksLiteral: () => false, maxEndpoints: 20 };

async function endpointWith(pending: number): Promise<Endpoint> {
  const endpoint = await makeEndpoint(db, await makeClient(db));
  await makeBacklog(db, endpoint.id, pending);
  return endpoint;
}
const disable = ({ id }: Endpoint, reason: 'owner' | 'gone' = 'owner') =>
  db.transaction((tx) => disableEndpoint(tx, id, reason));
const setEnabled = ({ id, clientId, url }: Endpoint, enabled: boolean) =>
  updateEndpoint(db, rules, masterKeys, { by: BY_OPERATOR, id, clientId, url, description: null, enabled });
const read = ({ id }: Endpoint) => db.prisma.endpoint.findUniqueOrThrow({ where: { id } });
const OPTIONS = { token: newId(), workflows: 'every-event' } as const;
const SECOND = { line: 'late', number: 2, trigger: 'schedule', leasedUntil: ENDED } as const;
const RETRY_OF_NONE = `
insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger)
values ($1::uuid, $2::uuid, $3::uuid, 'fresh', now(), 'manual')`;
/** Makes the batches that a worker makes. */
async function cancelRest({ id }: Endpoint): Promise<void> {
  while ((await db.transaction((tx) => cancelPending(tx, id))).more);
}

// Retention had removed the delivery of a queued retry. The scan found the row each second, for ever.
it('regression: a queued retry without a delivery leaves the queue with its endpoint', async () => {
  const endpoint = await endpointWith(1);
  await db.query(RETRY_OF_NONE, [newId(), endpoint.clientId, endpoint.id]);
  await disable(endpoint);
  expect(await db.query('select from queue where endpoint_id = $1::uuid', [endpoint.id])).toEqual([]);
});

describe('an endpoint with a backlog that is disabled', () => {
  it('has its oldest 1,000 pending deliveries cancelled at once, and the others in batches', async () => {
    const endpoint = await endpointWith(2_500);
    await disable(endpoint);
    expect(await countDeliveries(db, endpoint.id)).toEqual({ endpoint_disabled: 1_000, pending: 1_500 });
    const [oldest] = await db.prisma.delivery.findMany({
      where: { endpointId: endpoint.id, status: 'pending' },
      orderBy: { id: 'asc' },
      take: 1,
    });
    const { cancellingAfter } = await read(endpoint);
    expect(cancellingAfter! < oldest!.id).toBe(true);
    await cancelRest(endpoint);
    expect(await countDeliveries(db, endpoint.id)).toEqual({ endpoint_disabled: 2_500 });
    expect(await read(endpoint)).toMatchObject({ enabled: false, cancellingAfter: null });
  });

  it('is enabled by neither owner nor operator before the last delivery is cancelled', async () => {
    const endpoint = await endpointWith(1_001);
    await disable(endpoint);
    const conflict = { code: 'cancellation_in_progress' };
    await expect(setEnabled(endpoint, true)).rejects.toMatchObject(conflict);
    await expect(setEndpointEnabledByOperator(db, OPERATOR, endpoint.id, true)).rejects.toMatchObject(conflict);
    await cancelRest(endpoint);
    expect(await setEnabled(endpoint, true)).toMatchObject({ enabled: true });
    expect(await countDeliveries(db, endpoint.id)).toEqual({ endpoint_disabled: 1_001 });
  });

  it('keeps its first reason while it is disabled again, until it is deleted', async () => {
    const endpoint = await endpointWith(3_500);
    await disable(endpoint, 'gone');
    await setEnabled(endpoint, false);
    expect(await countDeliveries(db, endpoint.id)).toEqual({ endpoint_gone: 1_000, pending: 2_500 });
    await deleteEndpoint(db, BY_OPERATOR, endpoint.clientId, endpoint.id);
    const between = { endpoint_deleted: 1_000, endpoint_gone: 1_000, pending: 1_500 };
    expect(await countDeliveries(db, endpoint.id)).toEqual(between);
    await cancelRest(endpoint);
    expect(await countDeliveries(db, endpoint.id)).toEqual({ endpoint_deleted: 2_500, endpoint_gone: 1_000 });
  });
});

test('a cancellation that meets records of the same deliveries deadlocks with none', async () => {
  const endpoint = await endpointWith(3_000);
  const deliveries = await db.prisma.delivery.findMany({ where: { endpointId: endpoint.id }, orderBy: { id: 'asc' } });
  const some = deliveries.filter((_, i) => i % 10 === 0);
  const records = Array.from({ length: 10 }, (_, i) =>
    recordAttempts(
      db,
      OPTIONS,
      some.slice(i * 30, i * 30 + 30).map(({ id, eventId }) => {
        const attempt = { ...SECOND, url: endpoint.url, deliveryId: id, eventId };
        return { attempt, outcome: refusedBy(503) };
      }),
    ),
  );
  await Promise.all([...records, disable(endpoint).then(() => cancelRest(endpoint))]);
  const { pending, ...ended } = await countDeliveries(db, endpoint.id);
  expect(pending).toBeUndefined();
  expect(Object.values(ended).reduce((sum, count) => sum + count)).toBe(3_000);
});

test.each(['current', 'older than the backlog'])(
  "a batch reads the deliveries that it cancels from the endpoint's index; statistics: %s",
  async (statistics) => {
    const clientId = await makeClient(db);
    const [big, small] = [await makeEndpoint(db, clientId), await makeEndpoint(db, clientId)];
    await makeBacklog(db, big.id, 30_000);
    await db.query(`update deliveries set status = 'succeeded' where endpoint_id = $1::uuid`, [big.id]);
    const analyze = () => db.pool.query('vacuum analyze');
    if (statistics !== 'current') await analyze();
    for (const { id } of [small, big]) await makeBacklog(db, id, 1_500);
    if (statistics === 'current') await analyze();
    const explained = openExplained(db.url.reveal());
    try {
      for (const endpoint of [big, small]) {
        for (const batch of ['first', 'second']) {
          explained.plans();
          await explained.transaction(
            (tx): Promise<unknown> =>
              batch === 'first' ? disableEndpoint(tx, endpoint.id, 'owner') : cancelPending(tx, endpoint.id),
          );
          const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
          const reads = nodes.filter((node) => node['Relation Name'] === 'deliveries');
          expect(reads.map((node) => node['Index Name'])).toContain('deliveries_endpoint_id_status_id_idx');
          for (const node of reads) expect(rowsOf(node)).toBeLessThanOrEqual(CANCELLED_AT_ONCE + 1);
        }
        expect((await countDeliveries(db, endpoint.id)).pending).toBeUndefined();
      }
    } finally {
      await explained.close();
    }
  },
);
