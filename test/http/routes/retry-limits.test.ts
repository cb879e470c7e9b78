import { describe, expect, it } from '@jest/globals';
import { newId } from '../../../src/platform/ids.js';
import { openApi, type TestClient } from '../../support/api.js';
import { deliverTo } from '../../support/history.js';
import { ageUses, countUses } from '../../support/limits.js';
import { waitFor } from '../../support/wait-for.js';

// Two processes of the API share a database. No worker makes the attempts, and there is no Temporal.

const api = await openApi();
const second = await openApi({ database: api.database });

const query = <Row>(text: string, values: unknown[] = []) => api.database.query<Row>(text, values);
/** The same client at the second process. */
const atSecond = (client: TestClient, path: string, headers = {}) =>
  second.call('POST', path, { headers: { Authorization: `Bearer ${client.token}`, ...headers } });
/** As if the attempts of the delivery had been made. */
const attempted = (deliveryId: string) => query('delete from queue where delivery_id = $1::uuid', [deliveryId]);
const counted = (deliveryId: string) => countUses(api.database, 'retries', deliveryId);
/** The first response that is not 429: a process remembers for a second that a key was over its limit. */
const admitted = (ask: () => ReturnType<TestClient['call']>) =>
  waitFor('the limit', async () => {
    const reply = await ask();
    return reply.status !== 429 && reply;
  });

describe('manual retries of one delivery', () => {
  it('are limited to ten an hour across two processes; the next is rejected until the first is an hour old', async () => {
    const client = await api.client();
    const { deliveryId } = await deliverTo(api, client);
    const path = `/deliveries/${deliveryId}/retry`;
    const replies: Awaited<ReturnType<TestClient['call']>>[] = [];
    for (let i = 0; i < 14; i++) {
      replies.push(await (i % 2 ? client.call('POST', path) : atSecond(client, path)));
      await attempted(deliveryId);
    }
    const refused = replies.filter(({ status }) => status !== 202);
    expect([replies.length - refused.length, refused.length]).toEqual([10, 4]);
    for (const { status, body, headers } of refused) {
      expect([status, body.code]).toEqual([429, 'retry_limit_reached']);
      const wait = Number(headers.get('retry-after'));
      expect(wait > 3_500 && wait <= 3_600).toBe(true);
    }
    // Rolling: only the oldest use leaves the window.
    await query(
      `update limit_uses set uses = array(select at - case when at = uses[1] then interval '3590 s' else interval '60 s' end
                                            from unnest(uses) at order by 1) where key = $1`,
      [deliveryId],
    );
    const reply = await waitFor('the other wait', async () => {
      const { headers } = await client.call('POST', path);
      const wait = Number(headers.get('retry-after'));
      return wait <= 10 && wait;
    });
    expect(reply).toBeGreaterThan(0);
    await ageUses(api.database, 'retries', deliveryId, '10 s');
    expect((await admitted(() => client.call('POST', path))).status).toBe(202);
    await attempted(deliveryId);
    expect((await client.call('POST', path)).status).toBe(429);
  });

  it('exhaust the limit exactly when they race over both processes', async () => {
    const client = await api.client();
    const { deliveryId } = await deliverTo(api, client);
    const path = `/deliveries/${deliveryId}/retry`;
    let making = true;
    const attempts = (async () => {
      while (making) await attempted(deliveryId);
    })();
    const refused = async (ask: () => ReturnType<TestClient['call']>) => {
      for (let status = 202; status !== 429; ) ({ status } = await ask());
    };
    await Promise.all([refused(() => client.call('POST', path)), refused(() => atSecond(client, path))]);
    making = false;
    await attempts;
    expect(await counted(deliveryId)).toBe(10);
  });

  it('do not count for a replayed key, or while an attempt is in flight or requested', async () => {
    const client = await api.client();
    const { deliveryId } = await deliverTo(api, client);
    const path = `/deliveries/${deliveryId}/retry`;
    const headers = { 'Idempotency-Key': newId() };
    for (const replayed of [null, 'true', 'true']) {
      const reply = await client.call('POST', path, { headers });
      expect([reply.status, reply.headers.get('idempotency-replayed')]).toEqual([202, replayed]);
      await attempted(deliveryId);
    }
    expect((await atSecond(client, path, headers)).headers.get('idempotency-replayed')).toBe('true');
    expect(await counted(deliveryId)).toBe(1);
    expect((await client.call('POST', path)).status).toBe(202);
    // Asked for, and then in flight.
    expect((await client.call('POST', path)).status).toBe(202);
    await query(
      `update queue set lease_token = $2::uuid, lease_until = now() + interval '30 seconds' where delivery_id = $1::uuid`,
      [deliveryId, newId()],
    );
    expect((await client.call('POST', path)).status).toBe(202);
    expect(await counted(deliveryId)).toBe(2);
  });
});
