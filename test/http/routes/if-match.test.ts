import { describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { newId } from '../../../src/platform/ids.js';
import { openApi, type TestClient } from '../../support/api.js';
import { makeBacklog } from '../../support/backlog.js';
import { endpointRequest, transferRequest } from '../../support/transfers.js';

const api = await openApi();
const [client, operator] = [await api.client(), await api.client(['operator'])];

const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag') ?? 'none';
const on = (ifMatch: string, others: Record<string, string> = {}) => ({ headers: { 'If-Match': ifMatch, ...others } });
const outcome = ({ status, body }: { status: number; body?: { code?: string } }) => [status, body?.code];
const CHANGED = [412, 'changed_meanwhile'];

async function make(by: TestClient, path: string, json: unknown, id: string) {
  const made = await by.call('POST', path, { json });
  return { made, path: `${path}/${made.body[id]}` };
}
const endpoint = () => make(client, '/webhook-endpoints', endpointRequest(), 'webhookId');
const transfer = () => make(client, '/transfers', transferRequest(), 'id');
const ordinaryClient = () => make(operator, '/operator/clients', { name: 'Acme' }, 'client_id');

describe('ETag', () => {
  it('of an endpoint changes with each change and with no delivery, and is the same wherever it is shown', async () => {
    const { made, path } = await endpoint();
    const read = async () => tagOf(await client.call('GET', path));
    const tags = [tagOf(made)];
    await makeBacklog(api.database, made.body.webhookId, 3);
    const slowedUntil = new Date('2027-01-01');
    await api.database.prisma.endpoint.update({ where: { id: made.body.webhookId }, data: { slowedUntil } });
    expect(await read()).toBe(tags[0]);
    for (const [method, json] of [
      ['PATCH', { description: 'New' }],
      ['PUT', { url: 'https://example.com/2' }],
      ['PATCH', { enabled: false }],
    ] as const) {
      tags.push(tagOf(await client.call(method, path, { json })));
      expect(await read()).toBe(tags.at(-1));
    }
    expect(new Set(tags).size).toBe(4);
  });

  it('of a transfer is one for its client and the operator, and a new one for each status', async () => {
    const { made, path } = await transfer();
    const processing = await operator.call('POST', `/operator${path}/status`, { json: { status: 'PROCESSING' } });
    const sent = await client.call('POST', `/sandbox${path}/status`, { json: { status: 'SENT' } });
    const own = await client.call('GET', path);
    expect([tagOf(own), tagOf(await operator.call('GET', `/operator${path}`))]).toEqual([tagOf(sent), tagOf(sent)]);
    expect(new Set([made, processing, sent].map(tagOf)).size).toBe(3);
  });

  it('of a client changes with its fields, notifications, secrets, keys and revocation', async () => {
    const { made, path } = await ordinaryClient();
    const { publicKey } = await generateKeyPair('ES256', { extractable: true });
    const notify = { notify_url: 'https://example.com/a', notify_secret: 'a secret of 16 characters' };
    const steps = [
      await operator.call('PATCH', path, { json: { rate_limit: 7 } }),
      await operator.call('PATCH', path, { json: notify }),
      await operator.call('PATCH', path, { json: { notify_url: 'https://example.com/b' } }),
      await operator.call('POST', `${path}/secrets`, { json: {} }),
      await operator.call('PUT', `${path}/jwks`, { json: { keys: [await exportJWK(publicKey)] } }),
      await operator.call('DELETE', `${path}/secrets/${made.body.secret_id}`),
      await operator.call('POST', `${path}/revoke`),
    ];
    expect(new Set([made, ...steps].map(tagOf)).size).toBe(8);
    expect(tagOf(await operator.call('GET', path))).toBe(tagOf(steps.at(-1) ?? made));
  });

  it('in If-None-Match of a GET gives 304 until the resource changes', async () => {
    const { made, path } = await endpoint();
    const known = { headers: { 'If-None-Match': `"x", W/${tagOf(made)}` } };
    const same = await client.call('GET', path, known);
    expect([same.status, same.text, tagOf(same)]).toEqual([304, '', tagOf(made)]);
    await client.call('PATCH', path, { json: { description: 'New' } });
    expect((await client.call('GET', path, known)).status).toBe(200);
  });
});

describe('If-Match', () => {
  it.each(['"another"', 'W/TAG', 'TAGx', 'TAG, x', '', 'none'])('%s changes nothing: 412', async (field) => {
    const { made, path } = await endpoint();
    const sent = on(field.replace('TAG', tagOf(made)));
    const json = { url: 'https://example.com/' };
    for (const method of ['PATCH', 'PUT']) {
      expect(outcome(await client.call(method, path, { json, ...sent }))).toEqual(CHANGED);
    }
    expect(outcome(await client.call('DELETE', path, sent))).toEqual(CHANGED);
    expect((await client.call('GET', path)).body).toEqual(made.body);
  });

  it('with the present tag, a list that has it, or * makes the change', async () => {
    const { made, path } = await endpoint();
    const first = await client.call('PATCH', path, { json: { description: '1' }, ...on(tagOf(made)) });
    const second = await client.call('PUT', path, {
      json: { url: 'https://example.com/2' },
      ...on(`"a", ${tagOf(first)}`),
    });
    expect([first.status, second.status]).toEqual([200, 200]);
    expect((await client.call('DELETE', path, on('*'))).status).toBe(204);
    expect((await client.call('DELETE', path, on('*'))).status).toBe(404);
  });

  it('of two racing PUTs with one tag, one wins', async () => {
    const { made, path } = await endpoint();
    const race = ['1', '2'].map((description) =>
      client.call('PUT', path, { json: { url: 'https://example.com/', description }, ...on(tagOf(made)) }),
    );
    expect((await Promise.all(race)).map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  it.each([
    ['the client', '', '/cancel', undefined],
    ['the operator', '/operator', '/status', { status: 'CANCELLED' }],
    ['the sandbox', '/sandbox', '/status', { status: 'CANCELLED' }],
  ])('guards a change of status by %s, before the status is looked at', async (who, before, after, json) => {
    const { made, path } = await transfer();
    const by = who === 'the operator' ? operator : client;
    const change = (tag: string) => by.call('POST', `${before}${path}${after}`, { json, ...on(tag) });
    expect(outcome(await change('"old"'))).toEqual(CHANGED);
    const race = await Promise.all([change(tagOf(made)), change(tagOf(made))]);
    expect(race.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect(outcome(await change(tagOf(made)))).toEqual(CHANGED);
    expect(outcome(await change('*'))).toEqual([409, 'invalid_transition']);
    expect((await client.call('GET', path)).body.status_history).toHaveLength(2);
  });

  it('comes after a missing scope, 404 and a kept response, and a 412 is not kept', async () => {
    const { made, path } = await transfer();
    const key = { 'Idempotency-Key': newId() };
    const cancel = (id: string, tag: string) => client.call('POST', `/transfers/${id}/cancel`, on(tag, key));
    const reader = await api.client(['transfers:read']);
    expect((await reader.call('POST', `${path}/cancel`, on('"old"'))).status).toBe(403);
    expect((await client.call('POST', `/transfers/${newId()}/cancel`, on('"old"'))).status).toBe(404);
    expect(
      (await operator.call('DELETE', `/operator/clients/${operator.id}/secrets/${newId()}`, on('"old"'))).status,
    ).toBe(404);
    expect((await client.call('POST', `${path}/cancel`, on('"old"', key))).status).toBe(412);
    const first = await cancel(made.body.id, tagOf(made));
    const again = await cancel(made.body.id, '"old"');
    expect([first.status, again.status, again.text, tagOf(again)]).toEqual([200, 200, first.text, tagOf(first)]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    // The transfer comes before the key.
    expect((await cancel(newId(), '*')).status).toBe(404);
  });

  it("guards every change of an operator's client", async () => {
    const { made, path } = await ordinaryClient();
    const changes = (tag: string) => [
      () => operator.call('PATCH', path, { json: { name: 'Other' }, ...on(tag) }),
      () => operator.call('PUT', `${path}/jwks`, { json: { keys: [] }, ...on(tag) }),
      () => operator.call('POST', `${path}/secrets`, { json: {}, ...on(tag) }),
      () => operator.call('DELETE', `${path}/secrets/${made.body.secret_id}`, on(tag)),
      () => operator.call('POST', `${path}/revoke`, on(tag)),
    ];
    for (const change of changes('"old"')) expect(outcome(await change())).toEqual(CHANGED);
    expect((await operator.call('DELETE', `${path}/secrets/${newId()}`, on('"old"'))).status).toBe(404);
    for (const i of changes('').keys()) {
      const reply = await changes(tagOf(await operator.call('GET', path)))[i]?.();
      expect([i, reply?.status]).toEqual([i, [200, 200, 201, 204, 204][i]]);
    }
  });
});
