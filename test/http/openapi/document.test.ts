import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApp } from '../../../src/http/app.js';
import type { OpenApiDocument } from '../../../src/http/openapi/document.js';
import { plainPage } from '../../../src/http/openapi/page.js';
import { PROBLEMS } from '../../../src/platform/refusal.js';
import { startApi, type TestApi, type TestClient } from '../../support/api.js';
import type { Reply } from '../../support/documented.js';
import { deliverTo, type History } from '../../support/history.js';
import { openApiValidator, schemaOf, type Validate } from '../../support/openapi.js';
import { endpointRequest, transferRequest } from '../../support/transfers.js';

let api: TestApi;
let client: TestClient;
let operator: TestClient;
let history: History;
let document: OpenApiDocument;
let errorsOf: Validate;

beforeAll(async () => {
  api = await startApi();
  [client, operator] = [await api.client(), await api.client(['operator'])];
  history = await deliverTo(api, client);
  document = (await api.call('GET', '/openapi.json')).body;
  errorsOf = openApiValidator(document);
});
afterAll(() => api.close());

describe('/openapi.json', () => {
  it('has every route of the application, and nothing else', () => {
    const [router] = createApp(api.dependencies).middleware.flatMap((layer) =>
      'router' in layer ? [layer.router] : [],
    );
    const layers = (router as { stack: { path: string; methods: string[] }[] }).stack;
    const own = layers.filter(({ path }) => !/^\/docs\/.*\.js$/.test(path));
    const mounted = own.flatMap(({ path, methods }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
    );
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual([...new Set(mounted)].sort());
    expect(described).toHaveLength(new Set(described).size);
  });

  it('names each operation once', () => {
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((one) => one.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has examples that match their schemas, for every body, response and problem', () => {
    let checked = 0;
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return;
      if ('schema' in node && 'example' in node) {
        expectMatch(node.schema, node.example, path);
        checked++;
      }
      for (const [name, inner] of Object.entries(node)) if (name !== 'example') visit(inner, `${path}/${name}`);
    };
    visit(document.paths, '');
    const examples = document.components.examples as Record<string, { value: unknown }>;
    for (const [code, { value }] of Object.entries(examples)) {
      expectMatch({ $ref: '#/components/schemas/Problem' }, value, code);
    }
    expect(checked).toBeGreaterThan(25);
  });

  it('describes the actual responses', async () => {
    const transfer = `/transfers/${history.transferId}`;
    const endpoint = `/webhook-endpoints/${history.webhookId}`;
    const delivery = `/deliveries/${history.deliveryId}`;
    const real: [string, string, Reply][] = [];
    const take = async (method: string, pattern: string, path: string, json?: unknown, who = client) => {
      real.push([method, pattern, await who.call(method, path, json === undefined ? {} : { json })]);
    };
    await take('POST', '/webhook-endpoints', '/webhook-endpoints', endpointRequest({ enabled: false }));
    await take('POST', '/webhook-endpoints', '/webhook-endpoints', endpointRequest({ secret: 'short' }));
    await take('POST', '/webhook-endpoints', '/webhook-endpoints', endpointRequest({ url: 'http://10.0.0.1' }));
    await take('GET', '/webhook-endpoints', '/webhook-endpoints?limit=1');
    await take('GET', '/webhook-endpoints/{webhookId}', endpoint);
    await take('PUT', '/webhook-endpoints/{webhookId}', endpoint, { url: 'https://example.com/2' });
    await take('PUT', '/webhook-endpoints/{webhookId}', endpoint, endpointRequest());
    await take('GET', '/webhook-endpoints/{webhookId}/deliveries', `${endpoint}/deliveries`);
    await take('POST', '/webhook-endpoints/{webhookId}/recover', `${endpoint}/recover`, {
      since: '2026-01-01T00:00:00Z',
    });
    await take('POST', '/transfers', '/transfers', transferRequest());
    await take('GET', '/transfers', '/transfers?status=SENT');
    await take('GET', '/transfers', '/transfers?status=sent');
    await take('GET', '/transfers/{id}', transfer);
    await take('POST', '/transfers/{id}/cancel', `${transfer}/cancel`);
    await take('POST', '/sandbox/transfers/{id}/status', `/sandbox${transfer}/status`, { status: 'COMPLETED' });
    await take(
      'POST',
      '/operator/transfers/{id}/status',
      `/operator${transfer}/status`,
      { status: 'RETURNED' },
      operator,
    );
    await take('POST', '/operator/transfers/{id}/status', `/operator${transfer}/status`, { status: 'SENT' }, operator);
    await take('GET', '/events', '/events');
    await take('GET', '/events/{id}', `/events/${history.eventId}`);
    await take('GET', '/events/{id}/deliveries', `/events/${history.eventId}/deliveries`);
    await take('GET', '/deliveries/{id}', delivery);
    await take('GET', '/deliveries/{id}/attempts', `${delivery}/attempts?limit=1`);
    await take('POST', '/deliveries/{id}/retry', `${delivery}/retry`);
    await take('GET', '/healthz', '/healthz');
    await take('GET', '/readyz', '/readyz');
    await take('DELETE', '/webhook-endpoints/{webhookId}', endpoint);
    await take('GET', '/webhook-endpoints/{webhookId}', endpoint);
    for (const [method, pattern, reply] of real) {
      const operation = document.paths[pattern]?.[method.toLowerCase()];
      const where = `${method} ${pattern} ${reply.status}`;
      const schema = schemaOf(operation, reply.status, reply.headers.get('content-type'), where);
      if (schema) expectMatch(schema, reply.body, where);
      else expect([where, reply.text]).toEqual([where, '']);
    }
    expect(new Set(real.map(([method, pattern]) => `${method} ${pattern}`)).size).toBe(19 + 2);
  });

  it('names the metadata key that is rejected', () => {
    const { metadata } = document.components.schemas.NewTransfer?.properties ?? {};
    expect(metadata?.description).toContain('The name `__proto__` is rejected.');
  });

  it('omits /sandbox in production', async () => {
    const production = await startApi({
      env: { ENVIRONMENT: 'production', MASTER_KEY: randomBytes(32).toString('base64') },
      database: api.database,
    });
    const { text } = await production.call('GET', '/openapi.json');
    expect(text).not.toContain('/sandbox/');
    await production.close();
  });
});

describe('/docs/plain', () => {
  it('is a self-contained page with an anchor for each operation and problem code', async () => {
    const { status, headers, text } = await api.call('GET', '/docs/plain');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/html/);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/);
    expect(text).not.toMatch(/<script|<link|<img|src=|@import|url\(/i);
    for (const methods of Object.values(document.paths)) {
      for (const { operationId } of Object.values(methods)) expect(text).toContain(`id="${operationId}"`);
    }
  });

  it('has the anchor to which the type of each problem points', async () => {
    const examples = document.components.examples as Record<string, { value: { type: string } }>;
    const types = Object.values(examples).map(({ value }) => new URL(value.type));
    expect(types.map(({ hash }) => hash.slice(1)).sort()).toEqual(
      Object.keys(PROBLEMS)
        .filter((code) => code in examples)
        .sort(),
    );
    for (const { pathname, hash } of types) {
      const { status, text } = await readPage(pathname);
      expect([hash, status, text.includes(` id="${hash.slice(1)}"`)]).toEqual([hash, 200, true]);
      expect(text).not.toContain('<noscript>');
    }
    const unknown = await api.call('GET', '/no-such-path');
    expect(new URL(unknown.body.type).pathname).toBe('/docs/plain');
  });

  it('escapes the texts that it shows', () => {
    const page = plainPage({ ...document, info: { ...document.info, title: '<script>alert(1)</script>' } });
    expect(page).not.toContain('<script>');
    expect(page).toContain('&lt;script&gt;');
  });
});

const pages = new Map<string, Promise<Reply>>();
/** Pages that need no token are limited by address. */
function readPage(path: string): Promise<Reply> {
  const page = pages.get(path) ?? api.call('GET', path);
  pages.set(path, page);
  return page;
}

function expectMatch(schema: unknown, value: unknown, where: string): void {
  expect([where, errorsOf(schema, value)]).toEqual([where, null]);
}
