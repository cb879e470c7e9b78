import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Refusal } from '../../src/refusal.js';
import { lazyClient } from '../../src/temporal/connection.js';
import { createDeliveryActions } from '../../src/workflow-starts/retry-and-recover.js';
import { startApi, type TestApi, type TestClient } from '../support/api.js';
import { fakeDeliveryActions } from '../support/delivery-actions.js';
import { deliverTo, moveMany } from '../support/history.js';
import { startSilentServer } from '../support/silent-server.js';
import { endpointRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

let keys = 0;
const newKey = () => ({ 'Idempotency-Key': `key-${keys++}` });

/** An API on the same database whose retries call `carryOut`. */
async function apiThat(carryOut: () => Promise<void>) {
  const deliveryActions = fakeDeliveryActions();
  deliveryActions.retry = { ...deliveryActions.retry, carryOut };
  return startApi({ database: api.database, dependencies: { deliveryActions } });
}
/** Work that runs until the end of the test. */
function neverAnswers() {
  let ends = () => {};
  const ended = new Promise<void>((resolve) => {
    ends = resolve;
  });
  return { never: () => ended, ends: () => ends() };
}
const as = (other: TestApi, client: TestClient) => (path: string, headers: Record<string, string>) =>
  other.call('POST', path, { headers: { Authorization: `Bearer ${client.token}`, ...headers } });

const reservedBy = ({ id: clientId }: TestClient) =>
  waitFor('the reservation', () => api.database.prisma.idempotencyKey.findFirst({ where: { clientId, status: 409 } }));

/** Simulates that the process that holds the key died long ago. */
const expireReservations = () =>
  api.database.query(`update idempotency_keys set lease_until = now() where lease_until is not null`, []);

describe('60 keyed retries while Temporal hangs', () => {
  it('hold no connection to Postgres: another client gets its response while they wait', async () => {
    const hanging = await startSilentServer();
    const temporal = lazyClient({
      address: hanging.address,
      namespace: 'default',
      retention: 30 * 86_400_000,
      tls: false,
      apiKey: undefined,
    });
    const deliveryActions = createDeliveryActions(() => temporal, [0]);
    const own = await startApi({ dependencies: { deliveryActions } });
    const [client, other] = [await own.client(), await own.client()];
    await client.call('POST', '/webhook-endpoints', { json: endpointRequest() });
    await moveMany(client, 60);
    const deliveries = await own.database.prisma.delivery.findMany({ where: { clientId: client.id } });
    let responded = 0;
    const retries = deliveries.map(async ({ id }) => {
      const reply = await client.call('POST', `/deliveries/${id}/retry`, { headers: newKey() });
      responded++;
      return reply.status;
    });
    const inTransaction = await waitFor('all of them to wait for Temporal', async () => {
      const [row] = await own.database.query<{ waiting: number; inTransaction: number }>(
        `select (select count(*)::int from idempotency_keys where lease_until is not null) as waiting,
                (select count(*)::int from pg_stat_activity
                  where datname = current_database() and state like 'idle in transaction%') as "inTransaction"`,
        [],
      );
      return row?.waiting === 60 && [row.inTransaction];
    });
    expect(inTransaction).toEqual([0]);
    expect((await other.call('GET', '/webhook-endpoints')).status).toBe(200);
    // On a slow machine some of them have reached their time limit meanwhile.
    expect(responded).toBeLessThan(60);
    expect(own.database.pool.waitingCount).toBe(0);
    expect(new Set(await Promise.all(retries))).toEqual(new Set([503]));
    // A retry that Temporal did not accept counts in no limit.
    expect(await own.database.query('select id::text from manual_retries', [])).toEqual([]);
    hanging.close();
    await temporal.connection.close();
    await own.close();
  });
});

describe('a keyed request whose process dies', () => {
  it('keeps duplicates out during its lease, and a repeat continues with the same plan', async () => {
    const client = await api.client();
    const { deliveryId } = await deliverTo(api, client);
    const path = `/deliveries/${deliveryId}/retry`;
    const plans: unknown[] = [];
    const { never, ends } = neverAnswers();
    const dead = await apiThat(never);
    const retryIds: string[] = [];
    const deliveryActions = fakeDeliveryActions();
    deliveryActions.retry = {
      async plan(_tx, request, earlier) {
        plans.push(earlier);
        const retryId = earlier?.retryId ?? deliveryId;
        return { ...request, retryId, number: (earlier?.number ?? 6) + 1 };
      },
      async carryOut(_db, plan) {
        retryIds.push(plan.retryId);
      },
    };
    const alive = await startApi({ database: api.database, dependencies: { deliveryActions } });
    const headers = newKey();
    const pendingResponse = as(dead, client)(path, headers);
    await reservedBy(client);
    const duplicate = await as(alive, client)(path, headers);
    expect([duplicate.status, duplicate.body.code]).toEqual([409, 'idempotency_key_in_use']);
    expect(duplicate.headers.get('retry-after')).toBe('1');
    await expireReservations();
    const other = await alive.call('POST', `/webhook-endpoints/${deliveryId}/recover`, {
      json: { since: '2026-01-01T00:00:00Z' },
      headers: { Authorization: `Bearer ${client.token}`, ...headers },
    });
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused']);
    const resumed = await as(alive, client)(path, headers);
    expect([resumed.status, resumed.headers.get('idempotency-replayed')]).toEqual([202, null]);
    expect(plans).toMatchObject([{ retryId: deliveryId, clientId: client.id, deliveryId, number: 1 }]);
    expect(retryIds).toHaveLength(1);
    const replayed = await as(alive, client)(path, headers);
    expect([replayed.status, replayed.headers.get('idempotency-replayed'), replayed.text]).toEqual([
      202,
      'true',
      resumed.text,
    ]);
    ends();
    await pendingResponse;
    await Promise.all([dead.close(), alive.close()]);
  });

  it('keeps its plan if Temporal did not respond, and can be repeated at once', async () => {
    const client = await api.client();
    const { deliveryId } = await deliverTo(api, client);
    let away = true;
    const made: number[] = [];
    const own = await apiThat(async () => {
      if (away) throw new Refusal('unavailable', 'Temporal does not respond; try again.');
      made.push(1);
    });
    const headers = newKey();
    const retry = () => as(own, client)(`/deliveries/${deliveryId}/retry`, headers);
    expect((await retry()).status).toBe(503);
    const [kept] = await api.database.query<{ plan: unknown }>(
      'select plan from idempotency_keys where client_id = $1::uuid',
      [client.id],
    );
    expect(kept?.plan).toMatchObject({ deliveryId, number: 1 });
    away = false;
    expect((await retry()).status).toBe(202);
    expect((await retry()).headers.get('idempotency-replayed')).toBe('true');
    expect(made).toHaveLength(1);
    await own.close();
  });

  it('returns the same response to two runs of a plan: the response of the first run to end', async () => {
    const client = await api.client();
    const { deliveryId } = await deliverTo(api, client);
    const path = `/deliveries/${deliveryId}/retry`;
    const { never, ends } = neverAnswers();
    const slow = await apiThat(never);
    const fast = await apiThat(async () => {});
    const headers = newKey();
    const first = as(slow, client)(path, headers);
    await reservedBy(client);
    await expireReservations();
    const second = await as(fast, client)(path, headers);
    await api.database.prisma.delivery.update({ where: { id: deliveryId }, data: { reason: 'changed since' } });
    ends();
    const { status, text, headers: said } = await first;
    expect([status, text, said.get('idempotency-replayed')]).toEqual([202, second.text, 'true']);
    await slow.close();
    await fast.close();
  });

  it('is read by the previous release as a request that is still running', async () => {
    const client = await api.client();
    const { deliveryId } = await deliverTo(api, client);
    const { never, ends } = neverAnswers();
    const slow = await apiThat(never);
    const reply = as(slow, client)(`/deliveries/${deliveryId}/retry`, newKey());
    const row = await reservedBy(client);
    expect(row.headers).toMatchObject({ 'Content-Type': 'application/problem+json', 'Retry-After': '1' });
    expect(JSON.parse(row.body)).toMatchObject({ code: 'idempotency_key_in_use', status: 409 });
    ends();
    await reply;
    await slow.close();
  });
});
