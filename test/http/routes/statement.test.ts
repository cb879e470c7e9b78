import { describe, expect, it, jest } from '@jest/globals';
import { openApi, type TestClient } from '../../support/api.js';
import { makeDelivered, makeEvent } from '../../support/events.js';
import { moveMany } from '../../support/history.js';
import { endpointRequest, transferRequest } from '../../support/transfers.js';
import { waitFor } from '../../support/wait-for.js';

const DAY = 86_400_000;
const MINUTE = 60_000;

const api = await openApi();

const iso = (at: number) => new Date(at).toISOString();

async function register(client: TestClient, overrides = {}): Promise<string> {
  return (await client.call('POST', '/webhook-endpoints', { json: endpointRequest(overrides) })).body.webhookId;
}

function statement(client: TestClient, webhookId: string, query: Record<string, string>) {
  return client.call('GET', `/webhook-endpoints/${webhookId}/statement?${new URLSearchParams(query)}`);
}

describe('the statement of an endpoint', () => {
  it('ends now by the clock of events, as do a recovery and a list of missing events, whatever the clock of the API', async () => {
    const client = await api.client();
    const webhookId = await register(client);
    const { body: transfer } = await client.call('POST', '/transfers', { json: transferRequest() });
    await client.call('POST', `/transfers/${transfer.id}/cancel`);
    await client.call('DELETE', `/webhook-endpoints/${webhookId}`);
    const late = await register(client);
    const { created_at: at } = (await client.call('GET', '/events')).body.data[0];
    const now = Date.now;
    const behind = jest.spyOn(Date, 'now').mockImplementation(() => now() - 20_000);
    try {
      const since = `${at}Z`;
      expect((await statement(client, late, { since })).body).toMatchObject({ events: 1, missing: 1, final: false });
      const before = iso(Date.parse(since) - 1);
      const missing = await client.call('GET', `/events?missing_from=${late}&created_after=${before}`);
      expect(missing.body.data).toHaveLength(1);
      const json = { since, include_missing: true };
      expect((await client.call('POST', `/webhook-endpoints/${late}/recover`, { json })).body).toMatchObject({
        missing: 1,
      });
    } finally {
      behind.mockRestore();
    }
  });

  it('counts the outcome of every event made in [since, until), and the numbers add up to the events', async () => {
    const client = await api.client();
    const [webhookId, other] = [await register(client), await register(client)];
    const since = Date.now() - DAY;
    const until = since + MINUTE;
    const of = { clientId: client.id, endpointId: webhookId };
    const statuses = ['succeeded', 'succeeded', 'succeeded', 'pending', 'failed', 'failed', 'cancelled'] as const;
    for (const [i, status] of statuses.entries()) {
      await makeDelivered(api.database, { ...of, at: i === 0 ? since : until - i, status });
    }
    // Outside of the window, of another endpoint, and of another client.
    for (const at of [since - 1, until]) await makeDelivered(api.database, { ...of, at, status: 'failed' });
    await makeDelivered(api.database, { ...of, endpointId: other, at: since + 2, status: 'succeeded' });
    await makeEvent(api.database, client.id, since + 1);
    await makeEvent(api.database, (await api.client()).id, since + 1);

    const { status, body } = await statement(client, webhookId, { since: iso(since), until: iso(until) });
    expect(status).toBe(200);
    const endpoint = (await client.call('GET', `/webhook-endpoints/${webhookId}`)).body;
    expect(body).toEqual({
      since: iso(since),
      until: iso(until),
      events: 9,
      succeeded: 3,
      pending: 1,
      failed: 2,
      cancelled: 1,
      missing: 2,
      complete: false,
      final: true,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      signature: expect.any(String),
      disabled_periods: [],
      periods_known_since: endpoint.created_at,
    });
  });

  it('of a new endpoint said by default that the events before its registration had not arrived', async () => {
    const client = await api.client();
    await moveMany(client, 2);
    const created = await client.call('POST', '/webhook-endpoints', { json: endpointRequest() });
    const { webhookId, created_at } = created.body;
    expect((await statement(client, webhookId, {})).body).toMatchObject({
      ...{ since: created_at, events: 0, missing: 0, complete: true },
    });
    await moveMany(client, 1);
    expect((await statement(client, webhookId, {})).body).toMatchObject({ events: 1, pending: 1, missing: 0 });
    const until = async (at: number) => {
      const { status, body } = await statement(client, webhookId, { until: iso(at) });
      return [status, body.errors?.[0]];
    };
    expect(await until(Date.parse(created_at))).toEqual([
      422,
      {
        parameter: 'until',
        code: 'invalid_range',
        detail: 'must be later than since',
      },
    ]);
    expect(await until(Date.now() + 32 * DAY)).toMatchObject([422, { parameter: 'since', code: 'window_too_long' }]);
  });

  it('of an older endpoint begins 24 hours ago by default', async () => {
    const client = await api.client();
    const webhookId = await register(client);
    const createdAt = new Date(Date.now() - 3 * DAY);
    await api.database.prisma.endpoint.update({ where: { id: webhookId }, data: { createdAt } });
    const { since, until } = (await statement(client, webhookId, {})).body;
    expect(Date.parse(until) - Date.parse(since)).toBe(DAY);
  });

  it('is final if `until` is more than 60 s ago', async () => {
    const client = await api.client();
    const webhookId = await register(client);
    const since = iso(Date.now() - DAY);
    const final = async (until: number) =>
      (await statement(client, webhookId, { since, until: iso(until) })).body.final;
    expect(await final(Date.now() - 61_000)).toBe(true);
    expect(await final(Date.now() - 40_000)).toBe(false);
    expect(await final(Date.now() + DAY)).toBe(false);
  });
});

describe('the disabled periods of a statement', () => {
  it('begin with the registration for an endpoint that is registered with enabled false', async () => {
    const client = await api.client();
    const webhookId = await register(client, { enabled: false });
    const endpoint = (await client.call('GET', `/webhook-endpoints/${webhookId}`)).body;
    const { body } = await statement(client, webhookId, { since: iso(Date.now() - MINUTE) });
    expect(body.disabled_periods).toEqual([{ from: endpoint.created_at, to: null, reason: 'owner' }]);
    expect(body.periods_known_since).toBe(endpoint.created_at);
  });

  it('are the latest 100 that touch the window', async () => {
    const client = await api.client();
    const webhookId = await register(client);
    const start = Date.now() - DAY;
    // A period of a second in every minute.
    await api.database.query(
      `insert into endpoint_disabled_periods (endpoint_id, started_at, ended_at, reason)
       select $1::uuid, at, at + interval '1 second', 'owner'
         from generate_series(0, 149) n, lateral (select $2::timestamptz + n * interval '1 minute' as at) t`,
      [webhookId, iso(start)],
    );
    const periods = async (since: number, until: number) => {
      const { body } = await statement(client, webhookId, { since: iso(since), until: iso(until) });
      return body.disabled_periods.map(({ from }: { from: string }) => (Date.parse(from) - start) / MINUTE);
    };
    const minutes = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
    expect(await periods(start - MINUTE, Date.now())).toEqual(minutes(50, 149));
    expect(await periods(start + 2 * MINUTE + 999, start + 5 * MINUTE)).toEqual([2, 3, 4]);
    expect(await periods(start + 2 * MINUTE + 1_000, start + 5 * MINUTE + 1)).toEqual([3, 4, 5]);
  });
});

describe('a statement is rejected', () => {
  const now = Date.now();
  const ago = (days: number) => iso(now - days * DAY);

  it.each<[string, Record<string, string>, string, string]>([
    ['of more than 31 days', { since: ago(40), until: ago(9 - MINUTE / DAY) }, 'since', 'window_too_long'],
    ['of more than 31 days until now', { since: ago(31 + MINUTE / DAY) }, 'since', 'window_too_long'],
    ['that starts before the retention', { since: ago(91), until: ago(86) }, 'since', 'outside_retention'],
    ['that ends at no time', { since: ago(1), until: '9999-12-31T23:59:59-01:00' }, 'until', 'invalid_time'],
    ['that is empty', { since: ago(1), until: ago(1) }, 'until', 'invalid_range'],
  ])('for a window %s', async (_, window, parameter, code) => {
    const client = await api.client();
    const { status, body } = await statement(client, await register(client), window);
    expect([status, body.errors]).toMatchObject([422, [{ parameter, code }]]);
  });

  it.each([
    ['31 days', { since: ago(40), until: ago(9) }],
    ['the retention', { since: ago(89), until: ago(86) }],
  ])('but not within %s', async (_, window) => {
    const client = await api.client();
    expect((await statement(client, await register(client), window)).status).toBe(200);
  });

  it('while another of the same client is in progress, and with 503 after 5 s; nothing keeps running in Postgres', async () => {
    const client = await api.client();
    const webhookId = await register(client);
    const window = { since: iso(Date.now() - MINUTE) };
    const blocker = await api.database.openSession();
    await blocker.query('begin; lock table events in access exclusive mode');
    const slow = statement(client, webhookId, window);
    await api.database.untilBlocked();
    const second = await statement(client, webhookId, window);
    expect([second.status, second.body.code, second.headers.get('retry-after')]).toEqual([
      429,
      'statement_limit_reached',
      '1',
    ]);
    const { status, body } = await slow;
    expect([status, body.code]).toEqual([503, 'unavailable']);
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await waitFor('the end in Postgres', async () => (await api.database.query(waiting, [])).length === 0);
    await blocker.query('rollback');
    expect((await statement(client, webhookId, window)).status).toBe(200);
  });
});
