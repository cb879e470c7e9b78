import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { apiRoutes } from '../../src/http/app.js';
import { exampleBody } from '../../src/http/openapi/schemas.js';
import type { Route } from '../../src/http/route.js';
import { newId } from '../../src/platform/ids.js';
import { openApi } from '../support/api.js';
import { endpointRequest, transferRequest } from '../support/transfers.js';

// What each body and each query may have, read from the schemas that OpenAPI shows.

const api = await openApi({ env: { MAX_ENDPOINTS: '10000' } });
const [client, operator] = [await api.client(), await api.client(['operator'])];
const routes = apiRoutes(api.dependencies);

type Schema = z.core.JSONSchema.BaseSchema;
/** Where a body is wrong, the value there (undefined: none), and the code of its error. */
type Fault = [place: string[], value: unknown, code: string];

const withoutNull = (schema: Schema) => (schema.anyOf?.[0] as Schema) ?? schema;
const WRONG: Record<string, unknown> = { string: 5, integer: '5', boolean: 'true', object: 5, array: {} };

/** Every way to break a schema in one place. */
function faultsOf(nullable: Schema, at: string[] = []): Fault[] {
  const schema = withoutNull(nullable);
  const { properties, required = [], minLength = 0, maxLength, minimum, maximum } = schema;
  const type = [schema.type].flat()[0] ?? '';
  const faults: Fault[] = schema.enum ? [[at, '?', 'invalid_value']] : [];
  const add = (value: unknown, code: string) => void faults.push([at, value, code]);
  if (type in WRONG && !schema.enum && at.length > 0) add(WRONG[type], 'invalid_type');
  if (type === 'integer') {
    add(1.5, 'invalid_type');
    add(minimum! - 1, 'too_small');
    add(maximum! + 1, 'too_big');
  }
  if (type === 'string' && minLength > 0) add('x'.repeat(minLength - 1), 'too_short');
  if (type === 'string' && maxLength) add(`https://${'x'.repeat(maxLength - 7)}`, 'too_long');
  if (properties) faults.push([[...at, 'other'], 1, 'unknown_field']);
  for (const [name, inner] of Object.entries(properties ?? {}) as [string, Schema][]) {
    if (required.includes(name)) faults.push([[...at, name], undefined, 'required']);
    faults.push(...faultsOf(inner, [...at, name]));
  }
  return faults;
}

/** A copy of the body with this value at the place. */
function broken(body: unknown, [first, ...rest]: string[], value: unknown): unknown {
  const object = body as Record<string, unknown>;
  return { ...object, [first!]: rest.length === 0 ? value : broken(object[first!], rest, value) };
}

const { webhookId } = (await client.call('POST', '/webhook-endpoints', { json: endpointRequest() })).body;
const bodyOf = ({ body }: Route) => body && exampleBody(body);

function send(route: Route, json: unknown, query = '') {
  const caller = route.scopes.includes('operator') ? operator : client;
  const path = route.path.replace('{webhookId}', webhookId).replace('{number}', '1').replace(/{\w+}/g, newId());
  return caller.call(route.method, `${path}${query}`, { json });
}

const title = (route: Route): [string, Route] => [`${route.method} ${route.path}`, route];
const bodies = routes.filter(({ body }) => body).map(title);

it.each(bodies)('%s names each fault of its body', async (_, route) => {
  for (const [place, value, code] of faultsOf(z.toJSONSchema(route.body!, { io: 'input' }))) {
    const pointer = `/${place.join('/')}`;
    const { status, body } = await send(route, broken(bodyOf(route), place, value));
    const errors = body.errors?.map((error: Record<string, string>) => [error.pointer, error.code]);
    expect([pointer, value, status, body.code, errors]).toEqual([
      ...[pointer, value, 422, 'invalid_request'],
      [[pointer, code]],
    ]);
  }
});

const bounded = (schema: Schema, at = ''): [string, number[]][] =>
  Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([name, inner]) => {
    const { minLength = 0, maxLength, minimum, maximum } = withoutNull(inner);
    const bounds = maxLength ? [minLength, maxLength] : maximum ? [minimum!, maximum] : undefined;
    return [...(bounds ? [[`${at}${name}`, bounds] as [string, number[]]] : []), ...bounded(inner, `${at}${name}.`)];
  });

it('the least and the most of each field', () => {
  const all = bodies.flatMap(([, { body }]) => bounded(z.toJSONSchema(body!, { io: 'input' })));
  expect(Object.fromEntries(all)).toEqual({
    ...{ 'amount.value': [1, 2 ** 53 - 1], 'destination.name': [1, 140], 'destination.account': [1, 64] },
    ...{ reference: [0, 140], reason: [0, 255], v0: [0, 512], name: [1, 255] },
    ...{ url: [0, 2048], secret: [16, 256], description: [0, 255], notify_secret: [16, 256] },
    ...{ max_concurrency: [1, 100], max_per_second: [1, 1_000], rate_limit: [1, 10_000], max_endpoints: [0, 1_000] },
  });
});

/** A value that the parameter does not take, by its name. */
const INVALID: Record<string, [string, string]> = {
  limit: ['0', 'invalid_limit'],
  cursor: ['abc', 'invalid_cursor'],
  reference: ['x'.repeat(141), 'too_long'],
  name: ['x'.repeat(256), 'too_long'],
  idempotency_key: ['x'.repeat(256), 'too_long'],
};
const byFormat = ({ format, enum: values }: Schema): [string, string] | undefined =>
  values ? ['?', 'invalid_value'] : format === 'uuid' ? ['x', 'invalid_id'] : ['2026-01-01', 'invalid_time'];

it.each(routes.filter(({ query }) => query).map(title))('%s names each fault of its query', async (_, route) => {
  const { properties = {} } = z.toJSONSchema(route.query!, { io: 'input' });
  const errorsOf = async (query: string) => {
    const { status, body } = await send(route, bodyOf(route), `?${query}`);
    expect([query, status, body.code]).toEqual([query, 422, 'invalid_request']);
    return body.errors.map((error: Record<string, string>) => [error.parameter, error.code]);
  };
  for (const name of ['page', '__proto__']) expect(await errorsOf(`${name}=2`)).toEqual([[name, 'unknown_parameter']]);
  for (const [name, schema] of Object.entries(properties)) {
    const [value, code] = INVALID[name] ?? byFormat(schema as Schema)!;
    expect(await errorsOf(`${name}=${value}`)).toContainEqual([name, code]);
    expect(await errorsOf(`${name}=${value}&${name}=${value}`)).toContainEqual([name, 'repeated_parameter']);
  }
});

const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
const named = (name: string) => ({ destination: { name, account: 'x' } });
const priced = (currency: string) => ({ amount: { value: 1, currency } });

type Row = [path: string, fields: object, pointer: string, code: unknown];
it.each<Row>([
  ['/transfers', { amount: null }, '/amount', 'required'],
  ...['eur', 'DEM', 'ZZZ'].map((text): Row => ['/transfers', priced(text), '/amount/currency', 'invalid_currency']),
  ...['a\0', 'a\ud800'].map((text): Row => ['/transfers', named(text), '/destination/name', 'invalid_text']),
  ['/transfers', { reference: '\0' }, '/reference', 'invalid_text'],
  ['/transfers', { metadata: ['a'] }, '/metadata', 'invalid_type'],
  ['/transfers', { metadata: pairs(21) }, '/metadata', 'too_many'],
  ['/transfers', { metadata: { a: { b: 'c' } } }, '/metadata/a', 'invalid_type'],
  ['/transfers', { metadata: { ['x'.repeat(41)]: '' } }, `/metadata/${'x'.repeat(41)}`, 'too_long'],
  ['/transfers', { metadata: { 'a/b~': 'x'.repeat(501) } }, '/metadata/a~1b~0', 'too_long'],
  ['/transfers', { metadata: { '\0': '' } }, '/metadata/\0', 'invalid_text'],
  ['/transfers', { metadata: { a: '\0' } }, '/metadata/a', 'invalid_text'],
  ['/webhook-endpoints', { url: 'example.com' }, '/url', 'invalid_url'],
  ...['é'.repeat(16), `\t${'x'.repeat(16)}`, `\0${'x'.repeat(16)}`, ' '.repeat(16), ' '.repeat(256)].map(
    (secret): Row => ['/webhook-endpoints', { secret }, '/secret', 'invalid_secret'],
  ),
  ...['\0', '\udc00'].map((text): Row => ['/webhook-endpoints', { description: text }, '/description', 'invalid_text']),
  ['/webhook-endpoints', { signatures: ['v1'] }, '/signatures/0', 'invalid_value'],
  ['/webhook-endpoints', { signatures: ['standard', 'standard'] }, '/signatures', 'too_big'],
  ['/webhook-endpoints', JSON.parse('{"__proto__": {}}'), '/__proto__', 'unknown_field'],
  ...[' ', 'a\0b', '\ud800'].map((name): Row => ['/operator/clients', { name }, '/name', expect.any(String)]),
  ['/operator/clients', { name: 'x', networks: ['10.0.0.0/33'] }, '/networks/0', expect.any(String)],
])('POST %s rejects %j', async (path, fields, pointer, code) => {
  const valid = path === '/transfers' ? transferRequest() : path === '/webhook-endpoints' ? endpointRequest() : {};
  const json = Object.defineProperties(valid, Object.getOwnPropertyDescriptors(fields));
  const { status, body } = await (path.startsWith('/operator') ? operator : client).call('POST', path, { json });
  expect([status, body.errors]).toEqual([422, [{ pointer, code, detail: expect.any(String) }]]);
});

it.each([
  ['limit', ['101', '1e1', '', '-1']],
  ['cursor', ['']],
  ['status', ['sent', '']],
  ['reference', ['%00']],
  [
    'created_after',
    ['', 'yesterday', '2026-01-01', '2026-01-01T00:00:00', '2026-02-30T00:00:00Z', '2026-01-01+00:00:00Z'],
  ],
  ['created_after', ['2026-01-01T00:00:00%2B000', '0000-12-31T23:59:59Z', '0001-01-01T00:00:00%2B00:01']],
  ['created_before', ['9999-12-31T23:59:59-01:00']],
])('GET /transfers rejects as %s: %j', async (parameter, values) => {
  for (const value of values) {
    const { status, body } = await client.call('GET', `/transfers?${parameter}=${value}`);
    expect([value, status, body.errors]).toMatchObject([value, 422, [{ parameter }]]);
  }
});

it.each([
  '0001-01-01T00:00:00Z',
  '0000-12-31T23:59:00-00:01',
  '9999-12-31T23:59:59.9999Z',
  '2024-02-29T00:00:00Z',
  '2026-01-01t00:00:00z',
  '2026-01-01T00:00:00.5+02:00',
  '2026-01-01T00:00:00%2B02:00',
  '2026-01-01T00:00:00-0200',
])('GET /transfers accepts the time %s', async (time) => {
  expect((await client.call('GET', `/transfers?created_after=${time}`)).status).toBe(200);
});
