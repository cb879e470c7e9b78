import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { readIdempotencyKey } from '../../src/http/idempotency.js';
import type { Database } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import { Refusal } from '../../src/platform/refusal.js';
import { openApi, startApi, type TestClient } from '../support/api.js';
import { endpointRequest, transferRequest } from '../support/transfers.js';

let keys = 0;

const api = await openApi();
const client = await api.client();

const newKey = () => `key-${keys++}`;
const keyed = (who: TestClient, path: string, key: string, json?: unknown) =>
  who.call('POST', path, { json, headers: { 'Idempotency-Key': key } });
const create = (key: string, overrides = {}, who = client) => keyed(who, '/transfers', key, transferRequest(overrides));
const count = (who: TestClient) => api.database.prisma.transfer.count({ where: { clientId: who.id } });

describe('Idempotency-Key', () => {
  it('returns the first response again, byte for byte', async () => {
    const key = newKey();
    const [first, second] = [await create(key), await create(key)];
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(second.text).toBe(first.text);
    for (const name of ['content-type', 'location']) expect(second.headers.get(name)).toBe(first.headers.get(name));
  });

  it('rejects another body, and another path', async () => {
    const key = newKey();
    const { body } = await create(key);
    for (const reply of [
      await create(key, { reference: 'other' }),
      // This body is also invalid.
      await keyed(client, '/transfers', key, {}),
      await keyed(client, `/transfers/${body.id}/cancel`, key),
    ]) {
      expect([reply.status, reply.body.code]).toEqual([422, 'idempotency_key_reused']);
    }
    expect((await client.call('GET', `/transfers/${body.id}`)).body.status).toBe('CREATED');
  });

  it('is separate for each client', async () => {
    const [key, other] = [newKey(), await api.client()];
    const [mine, theirs] = [await create(key), await create(key, {}, other)];
    expect([theirs.status, theirs.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect(theirs.body.id).not.toBe(mine.body.id);
  });

  it('creates one transfer for 20 simultaneous requests to two processes', async () => {
    const second = await startApi({ database: api.database });
    const own = await api.client();
    const authorization = { Authorization: `Bearer ${own.token}` };
    const call: TestClient['call'] = (method, path, { headers, ...sent } = {}) =>
      second.call(method, path, { ...sent, headers: { ...headers, ...authorization } });
    const elsewhere = { ...own, call };
    const key = newKey();
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => create(key, {}, i % 2 ? own : elsewhere)));
    expect(await count(own)).toBe(1);
    for (const { status, body } of replies) expect(status === 201 || body.code === 'idempotency_key_in_use').toBe(true);
    expect(new Set(replies.filter(({ status }) => status === 201).map(({ body }) => body.id)).size).toBe(1);
    expect((await create(key, {}, own)).headers.get('idempotency-replayed')).toBe('true');
    await second.close();
  });

  it('does not keep the response to an invalid request', async () => {
    const key = newKey();
    expect((await create(key, { amount: {} })).status).toBe(422);
    expect((await keyed(client, '/transfers', key)).status).toBe(400);
    const right = await create(key);
    expect([right.status, right.headers.get('idempotency-replayed')]).toEqual([201, null]);
  });

  it('stores neither an error caused by a limit nor a 404', async () => {
    const limited = await startApi({ env: { MAX_ENDPOINTS: '1' }, database: api.database });
    const own = await limited.client();
    const [first] = [await keyed(own, '/webhook-endpoints', newKey(), endpointRequest())];
    const key = newKey();
    const other = endpointRequest({ url: 'https://example.com/other' });
    const full = await keyed(own, '/webhook-endpoints', key, other);
    expect(full.body.code).toBe('endpoint_limit_reached');
    await own.call('DELETE', `/webhook-endpoints/${first.body.webhookId}`);
    expect((await keyed(own, '/webhook-endpoints', key, other)).status).toBe(201);
    await limited.close();
  });

  it('stores the error for an invalid transition', async () => {
    const { body: transfer } = await create(newKey());
    const path = `/sandbox/transfers/${transfer.id}/status`;
    const key = newKey();
    const refused = await keyed(client, path, key, { status: 'SENT' });
    expect([refused.status, refused.body.code]).toEqual([409, 'invalid_transition']);
    await keyed(client, path, newKey(), { status: 'PROCESSING' });
    const again = await keyed(client, path, key, { status: 'SENT' });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([409, 'true']);
    expect(again.text).toBe(refused.text);
  });

  it('shares a transaction with other keyed changes, and each has its own result', async () => {
    const transfers = await Promise.all(Array.from({ length: 12 }, async () => (await create(newKey())).body.id));
    const transaction = jest.spyOn(api.database, 'transaction');
    const before = api.committed.length;
    const change = (id: string, key: string, status = 'PROCESSING') =>
      keyed(client, `/sandbox/transfers/${id}/status`, key, { status });
    const same = newKey();
    const [first, ...others] = transfers;
    const [unknown, ...replies] = await Promise.all([
      change(newId(), newKey()),
      change(first!, newKey(), 'COMPLETED'),
      ...others.map((id) => change(id, newKey())),
      ...[1, 2, 3].map(() => change(first!, same)),
    ]);
    expect([unknown.status, replies[0]!.body.code]).toEqual([404, 'invalid_transition']);
    expect(replies.slice(1, 12).map(({ status, body }) => [status, body.id])).toEqual(others.map((id) => [200, id]));
    const repeated = replies.slice(12);
    expect(
      repeated.filter(({ status, headers }) => status === 200 && !headers.has('idempotency-replayed')),
    ).toHaveLength(1);
    for (const { status, body } of repeated)
      expect(status === 200 || body.code === 'idempotency_key_in_use').toBe(true);
    expect(api.committed).toHaveLength(before + 12);
    expect(transaction.mock.calls.length).toBeLessThan(replies.length);
    transaction.mockRestore();
    expect((await change(first!, same)).headers.get('idempotency-replayed')).toBe('true');
  });

  it('is free again after the request failed midway', async () => {
    const { body: transfer } = await create(newKey());
    let dying = true;
    const hotTransaction: Database['hotTransaction'] = (work) =>
      api.database.hotTransaction(async (tx) => {
        const result = await work(tx);
        if (dying) throw new Error('killed before the commit');
        return result;
      });
    const database: Database = { ...api.database, hotTransaction, forClient: () => database };
    const failing = await startApi({ database: api.database, dependencies: { database } });
    const authorization = { Authorization: `Bearer ${client.token}`, 'Idempotency-Key': newKey() };
    const cancel = () => failing.call('POST', `/transfers/${transfer.id}/cancel`, { headers: authorization });
    expect((await cancel()).status).toBe(500);
    expect((await client.call('GET', `/transfers/${transfer.id}`)).body.status).toBe('CREATED');
    expect(failing.committed).toEqual([]);
    dying = false;
    const reply = await cancel();
    expect([reply.status, reply.headers.get('idempotency-replayed')]).toEqual([200, null]);
    await failing.close();
  });

  it('expires after 24 hours', async () => {
    const [key, { body: transfer }] = [newKey(), await create(newKey())];
    const cancel = () => keyed(client, `/transfers/${transfer.id}/cancel`, key);
    const first = await cancel();
    await age(key, 23.9);
    expect((await cancel()).text).toBe(first.text);
    await age(key, 24.1);
    expect((await cancel()).body.code).toBe('invalid_transition');
  });

  it.each(['""', '" ', '"a', '"a\\b"', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'é'])(
    '%.20s is no key',
    async (key) => {
      const { status, body } = await create(key);
      expect([status, body.code]).toEqual([422, 'invalid_request']);
    },
  );
});

/** Makes the response that is kept for a key older. */
const age = (key: string, hours: number) =>
  api.database.prisma.idempotencyKey.updateMany({
    where: { clientId: client.id, key },
    data: { createdAt: new Date(Date.now() - hours * 3_600_000) },
  });

describe("a transfer's Idempotency-Key", () => {
  const replayed = ({ status, headers }: { status: number; headers: Headers }) => [
    status,
    headers.get('idempotency-replayed'),
  ];

  it('returns the transfer as it is now after 24 hours, and creates no second one', async () => {
    const key = newKey();
    const { body: first } = await create(key);
    await client.call('POST', `/transfers/${first.id}/cancel`);
    await age(key, 24.1);
    const [late, again] = [await create(key), await create(`"${key}"`)];
    expect([replayed(late), replayed(again)]).toEqual(Array(2).fill([200, 'true']));
    const { body: now } = await client.call('GET', `/transfers/${first.id}`);
    expect(late.body).toEqual(now);
    expect(now).toMatchObject({ status: 'CANCELLED', idempotency_key: key });
    expect(again.body).toEqual(now);
  });

  it('rejects another body after 24 hours, also an invalid one, and one that differs in a blank', async () => {
    const key = newKey();
    await create(key);
    await age(key, 24.1);
    const spaced = `${JSON.stringify(transferRequest())} `;
    const headers = { 'Idempotency-Key': key, 'Content-Type': 'application/json' };
    for (const reply of [
      await create(key, { reference: 'other' }),
      await keyed(client, '/transfers', key, {}),
      await client.call('POST', '/transfers', { raw: spaced, headers }),
    ]) {
      expect([reply.status, reply.body.code]).toEqual([422, 'idempotency_key_reused']);
    }
  });

  it('is a filter of GET /transfers: whole, unquoted and case-sensitive', async () => {
    const own = await api.client();
    const key = `Week-end "${newKey()}"`;
    const { body: transfer } = await create(`"${key.replace(/"/g, '\\"')}"`, {}, own);
    const find = async (query: string) =>
      (await own.call('GET', `/transfers?${query}`)).body.data?.map(({ id }: { id: string }) => id);
    const whole = `idempotency_key=${encodeURIComponent(key)}`;
    expect(await find(whole)).toEqual([transfer.id]);
    const reference = encodeURIComponent(transfer.reference);
    expect(await find(`${whole}&status=CREATED&reference=${reference}`)).toEqual([transfer.id]);
    for (const none of [
      whole.toUpperCase().replace('IDEMPOTENCY_KEY', 'idempotency_key'),
      whole.slice(0, -3),
      `${whole}&status=SENT`,
      `${whole}&created_before=${transfer.created_at}`,
      `idempotency_key=${encodeURIComponent(`"${key}"`)}`,
    ]) {
      expect(await find(none)).toEqual([]);
    }
    expect((await client.call('GET', `/transfers?${whole}`)).body.data).toEqual([]);
    const operator = await api.client(['operator:transfers']);
    expect((await operator.call('GET', `/operator/transfers?${whole}`)).body.errors[0].code).toBe('unknown_parameter');
    const shown = await operator.call('GET', `/operator/transfers/${transfer.id}`);
    expect(shown.body.idempotency_key).toBe(key);
  });
});

describe('readIdempotencyKey', () => {
  it('reads every text of 1 to 255 printable characters as a quoted string (RFC 8941)', () => {
    const texts = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 255,
    });
    fc.assert(fc.property(texts, (text) => readIdempotencyKey([`"${text.replace(/["\\]/g, '\\$&')}"`]) === text));
  });

  it('returns undefined without a header, and rejects two', () => {
    expect(readIdempotencyKey(undefined)).toBeUndefined();
    expect(() => readIdempotencyKey(['a', 'b'])).toThrow(Refusal);
    expect(() => readIdempotencyKey([''])).toThrow(Refusal);
  });
});
