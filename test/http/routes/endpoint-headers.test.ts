import { describe, expect, it } from '@jest/globals';
import { openHeaders } from '../../../src/endpoints/headers.js';
import { openApi } from '../../support/api.js';
import { endpointRequest } from '../../support/transfers.js';

const api = await openApi({ env: { MAX_ENDPOINTS: '1000' } });
const client = await api.client();

const add = (headers: unknown) =>
  client.call('POST', '/webhook-endpoints', { json: { ...endpointRequest(), headers } });
const change = (method: string, id: string, json: unknown) => client.call(method, `/webhook-endpoints/${id}`, { json });

/** The headers as they are sent. */
async function stored(id: string) {
  const { headersEnvelope } = await api.database.prisma.endpoint.findUniqueOrThrow({ where: { id } });
  // Whole names and values: a short word stands in random Base64 by luck.
  for (const sent of [KEY.name, KEY.value, TEAM.value]) expect(headersEnvelope ?? '').not.toContain(sent);
  const headers = openHeaders(api.dependencies.masterKeys, id, headersEnvelope);
  return headers.map(({ name, value }) => `${name}: ${value.reveal()}`);
}

const KEY = { name: 'X-Api-Key', value: 'first key' };
const TEAM = { name: 'x-team', value: 'the team' };

describe('headers of an endpoint', () => {
  it('are kept as given, and shown by their names', async () => {
    const made = await add([KEY, TEAM]);
    expect([made.status, made.body.headers]).toEqual([201, [{ name: 'X-Api-Key' }, { name: 'x-team' }]]);
    const id = made.body.webhookId;
    const [read, listed] = await Promise.all(
      [`/${id}`, '?limit=1'].map((path) => client.call('GET', `/webhook-endpoints${path}`)),
    );
    expect([read!.body.headers, listed!.body.data[0].headers]).toEqual([made.body.headers, made.body.headers]);
    for (const { text } of [made, read!, listed!]) expect(text).not.toMatch(/first key|the team/);
    expect(await stored(id)).toEqual(['X-Api-Key: first key', 'x-team: the team']);

    await client.call('DELETE', `/webhook-endpoints/${id}`);
    expect(await stored(id)).toEqual([]);
  });

  it('stay where a value or the field is left out, and are cleared by a PUT without them', async () => {
    const { webhookId: id } = (await add([KEY, TEAM])).body;
    const { body: shown } = await change('PATCH', id, { description: 'x' });
    expect((await change('PUT', id, shown)).body.headers).toEqual([{ name: 'X-Api-Key' }, { name: 'x-team' }]);
    expect(await stored(id)).toEqual(['X-Api-Key: first key', 'x-team: the team']);

    const headers = [{ name: 'X-TEAM' }, { name: 'X-Api-Key', value: 'second key' }];
    expect((await change('PATCH', id, { headers })).body.headers).toEqual([{ name: 'X-TEAM' }, { name: 'X-Api-Key' }]);
    expect(await stored(id)).toEqual(['X-TEAM: the team', 'X-Api-Key: second key']);

    expect((await change('PATCH', id, { headers: null })).body.headers).toEqual([]);
    await change('PATCH', id, { headers: [KEY] });
    expect((await change('PUT', id, { url: shown.url })).body.headers).toEqual([]);
    expect(await stored(id)).toEqual([]);
    const missing = await change('PATCH', id, { headers: [TEAM, { name: 'X-Api-Key' }] });
    expect([missing.status, missing.body.code]).toEqual([422, 'invalid_request']);
    expect(missing.body.errors).toEqual([
      { pointer: '/headers/1/value', code: 'required', detail: expect.any(String) },
    ]);
  });

  it('are named in the audit, only if they change', async () => {
    const { webhookId: id } = (await add([KEY])).body;
    for (const headers of [[KEY], [{ name: KEY.name }], [{ ...KEY, value: 'other key' }]]) {
      await change('PATCH', id, { headers });
    }
    const entries = await api.database.prisma.auditEntry.findMany({ where: { target: id }, orderBy: { id: 'asc' } });
    expect(entries.map(({ action }) => action)).toEqual(['endpoints.create', 'endpoints.update']);
    expect(entries[1]!.details).toMatchObject({ changed: ['headers'] });
    expect(JSON.stringify(entries, (_, value) => (typeof value === 'bigint' ? `${value}` : value))).not.toMatch(/ key/);
  });

  it.each<[string, unknown, string, string]>([
    ['an object', { 'X-Api-Key': 'x' }, '', 'invalid_type'],
    ['six', [...'abcdef'].map((name) => ({ name, value: 'x' })), '', 'too_big'],
    ['an empty name', [{ name: '', value: 'x' }], '/0/name', 'too_short'],
    ['a name of 65 characters', [{ name: 'x'.repeat(65), value: 'x' }], '/0/name', 'too_long'],
    ['a colon in a name', [{ name: 'x:', value: 'x' }], '/0/name', 'invalid_header_name'],
    ['an empty value', [{ name: 'x', value: '' }], '/0/value', 'too_short'],
    ['a value of 1,025 characters', [{ name: 'x', value: 'x'.repeat(1_025) }], '/0/value', 'too_long'],
    ['a space at the end of a value', [{ name: 'x', value: 'x ' }], '/0/value', 'invalid_header_value'],
    ['a line break', [{ name: 'x', value: 'x\r\nX: y' }], '/0/value', 'invalid_header_value'],
    ['no value', [{ name: 'x' }], '/0/value', 'required'],
    ['an unknown field', [{ name: 'x', value: 'x', secret: true }], '/0/secret', 'unknown_field'],
  ])('may not have %s', async (_, headers, pointer, code) => {
    const { status, body } = await add(headers);
    expect([status, body.code]).toEqual([422, 'invalid_request']);
    expect(body.errors).toEqual([{ pointer: `/headers${pointer}`, code, detail: expect.any(String) }]);
  });

  it.each([
    ...['Connection', 'keep-alive', 'Proxy-Authorization', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade', 'HOST'],
    ...['Content-Type', 'content-digest', 'User-Agent', 'Accept', 'Accept-Language', 'Expect', 'Service-Signature'],
    ...['webhook-id', 'Webhook-Secret', 'traceparent', 'tracestate', 'baggage', 'x-api-KEY'],
  ])('may not be named %s', async (name) => {
    const headers = [KEY, TEAM, { name, value: 'x' }];
    const { webhookId: id } = (await add([])).body;
    for (const { status, body } of [await add(headers), await change('PATCH', id, { headers })]) {
      expect([status, body.code]).toEqual([422, 'header_not_allowed']);
      const error = { pointer: '/headers/2/name', code: 'header_not_allowed', detail: expect.any(String) };
      expect(body.errors).toEqual([error]);
    }
  });

  it('may have the longest name and value, and any token as a name', async () => {
    const headers = [
      { name: 'x'.repeat(64), value: `~${'x '.repeat(511)}!` },
      { name: "!#$%&'*+-.^_`|~9aZ", value: '"\\' },
      { name: '__proto__', value: 'x' },
      { name: 'Authorization', value: 'Basic eA==' },
      { name: '7', value: 'x' },
    ];
    const { status, body } = await add(headers);
    expect(status).toBe(201);
    expect(await stored(body.webhookId)).toEqual(headers.map(({ name, value }) => `${name}: ${value}`));
  });
});
