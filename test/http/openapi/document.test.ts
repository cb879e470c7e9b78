import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createApp } from '../../../src/http/app.js';
import type { OpenApiDocument } from '../../../src/http/openapi/document.js';
import { PROBLEMS } from '../../../src/platform/refusal.js';
import { openApi, startApi } from '../../support/api.js';
import type { Document } from '../../support/manifests.js';
import { openApiValidator } from '../../support/openapi.js';

const api = await openApi();
const document: OpenApiDocument = (await api.call('GET', '/openapi.json')).body;
const errorsOf = openApiValidator(document);

describe('/openapi.json', () => {
  it('has every route of the application, and nothing else', () => {
    const [router] = createApp(api.dependencies).middleware.flatMap((layer) =>
      'router' in layer ? [layer.router] : [],
    );
    const layers = (router as { stack: { path: string; methods: string[] }[] }).stack;
    const own = layers.filter(({ path }) => !/^\/docs\/.*\.(js|css)$/.test(path));
    const mounted = own.flatMap(({ path, methods }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
    );
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual([...new Set(mounted)].sort());
    expect(described).toHaveLength(new Set(described).size);
  });

  it('has examples that match their schemas, for every field and every body of a request', () => {
    let checked = 0;
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return;
      const { example, examples = [], ...inner } = node as Record<string, unknown>;
      for (const value of examples as unknown[]) {
        expectMatch(node, value, path);
        checked++;
      }
      if (example !== undefined && inner.schema) {
        expectMatch(inner.schema, example, path);
        checked++;
      }
      for (const [name, value] of Object.entries(inner)) visit(value, `${path}/${name}`);
    };
    visit({ paths: document.paths, schemas: document.components.schemas }, '');
    expect(checked).toBeGreaterThan(75);
  });

  it('has an example for each successful response', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        for (const [status, response] of Object.entries<Document>(responses as object)) {
          const contents = status.startsWith('2') ? Object.values<Document>(response.content ?? {}) : [];
          for (const { example } of contents) expect([method, path, example]).not.toContain(undefined);
        }
      }
    }
  });

  it('lists what the metadata of the authorization server has', async () => {
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
      const { schema } = (document.paths[path] as Document).get.responses[200].content['application/json'];
      const { properties, required } = document.components.schemas[schema.$ref.split('/').at(-1)]!;
      const served = Object.keys((await api.call('GET', path)).body).sort();
      expect([Object.keys(properties ?? {}).sort(), [...(required ?? [])].sort()]).toEqual([served, served]);
    }
  });

  it('has only patterns and enums that every generator reads', () => {
    const [patterns, enums] = [new Set<string>(), new Set<unknown>()];
    JSON.stringify(document, (_, node) => {
      if (typeof node?.pattern === 'string') patterns.add(node.pattern);
      for (const value of node?.enum ?? []) enums.add(value);
      return node;
    });
    // RE2 (Go, Rust, Envoy) has neither look-around nor back references, and repeats at most 1,000 times.
    expect([...patterns].filter((pattern) => /\(\?[=!<]|\\[1-9k]|\{(\d*,)?\d{4,}/.test(pattern))).toEqual([]);
    expect(patterns.size).toBeGreaterThan(2);
    // Null is a part of its own: msgspec and zod expect texts.
    expect([...enums].filter((value) => typeof value !== 'string')).toEqual([]);
  });

  // Every call of a test API is checked against the document (test/support/documented.ts): those of clients and
  // operators in isolation.test.ts.
  it('describes the response of each path that needs no token', async () => {
    const open = Object.entries(document.paths).flatMap(([path, { get }]) =>
      (get as Document)?.security.length === 0 ? [path] : [],
    );
    expect(open.length).toBeGreaterThan(10);
    for (const path of open) expect([path, (await api.call('GET', path)).status]).toEqual([path, 200]);
    expect((await api.call('GET', '/docs/signature-vectors.json')).body.cases.length).toBeGreaterThan(60);
  });

  it('is in the form that generators of clients understand', () => {
    const { paths, components } = document;
    type Described = { operationId: string; requestBody?: { content: object }; callbacks?: object };
    const operationsOf = (group: object): Described[] =>
      Object.values(group).flatMap((methods) => Object.values<Described>(methods));
    // Python: the generated operation of a webhook has parameters without types, a syntax error.
    const webhooks = operationsOf(document.webhooks);
    expect(webhooks).toEqual([expect.not.objectContaining({ parameters: expect.anything() })]);
    expect(webhooks).toMatchObject([{ operationId: 'onTransferStatusChanged', tags: ['Webhooks'] }]);
    const callbacks = operationsOf(paths).flatMap((one) => Object.values(one.callbacks ?? {}).flatMap(operationsOf));
    expect(callbacks.map(({ operationId }) => operationId)).toEqual(['receiveTransferStatusChanged']);
    const bodies = operationsOf(paths).flatMap(({ requestBody }) => (requestBody ? [requestBody.content] : []));
    for (const body of bodies) expect(Object.keys(body)).toHaveLength(1);
    const names = Object.keys(components.schemas);
    // Go: a generated constructor of `Transfer` is `NewTransfer`.
    expect(names.filter((name) => /^New(?=[A-Z])/.test(name) && names.includes(name.slice(3)))).toEqual([]);
    const faults: string[] = [];
    const visit = (node: unknown, path: string, isParameter = false): void => {
      if (typeof node !== 'object' || node === null) return;
      const { type, anyOf, not, format, maximum, exclusiveMinimum, ...schema } = node as Record<string, unknown>;
      const has = (name: string, isFault: boolean) => isFault && faults.push(`${path}: ${name}`);
      const types = [type].flat();
      has('not', not !== undefined);
      has('default in a body', 'default' in schema && !isParameter && !path.endsWith('/responses'));
      const isNamed = (one: { $ref?: string; enum?: unknown }) => one.$ref || one.enum;
      has('null in anyOf', Array.isArray(anyOf) && anyOf.some((one) => one.type === 'null') && !isNamed(anyOf[0]));
      has('exclusiveMinimum', exclusiveMinimum !== undefined);
      has('a pattern of a time', format === 'date-time' && 'pattern' in schema);
      has('no int64', types.includes('integer') && format !== 'int64' && !((maximum as number) < 2 ** 31));
      has('an object without a name', 'properties' in schema && !/^\/\w+$/.test(path));
      for (const [name, inner] of Object.entries(node)) {
        if (!/^examples?$/.test(name)) visit(inner, `${path}/${name}`, isParameter || name === 'parameters');
      }
    };
    visit(components.schemas, '');
    for (const operation of operationsOf(paths)) {
      visit(operation, `${operation.operationId}/operation`);
    }
    expect(faults).toEqual([]);
    const { oauth2, operator } = components.securitySchemes;
    const scopesOf = (scheme: typeof oauth2) => Object.keys(scheme.flows.clientCredentials.scopes);
    expect(scopesOf(oauth2).filter((scope) => scope.startsWith('operator'))).toEqual([]);
    expect(scopesOf(operator).filter((scope) => !scope.startsWith('operator'))).toEqual([]);
    expect(components.parameters.IdempotencyKey).not.toHaveProperty('example');
    expect(components.parameters.IdempotencyKey.schema).toEqual({ type: 'string', minLength: 1, maxLength: 255 });
    expect(components.schemas.WebhookEndpointUpdate?.properties).not.toHaveProperty('secret');
  });

  it('omits /sandbox in production', async () => {
    const production = await startApi({
      env: { ENVIRONMENT: 'production', MASTER_KEY: randomBytes(32).toString('base64') },
      database: api.database,
    });
    const { text } = await production.call('GET', '/openapi.json');
    expect(text).not.toMatch(/\/sandbox\/|\/checks|ReceiverCheck|SANDBOX-COMPLETE/);
    await production.close();
  });
});

it('gives each problem a type that is an anchor of the guide', async () => {
  const { text } = await api.call('GET', '/docs/guide');
  for (const code of Object.keys(PROBLEMS)) expect(text).toContain(` id="${code}"`);
  const unknown = await api.call('GET', '/no-such-path');
  expect(unknown.body.type).toMatch(/\/docs\/guide#not_found$/);
});

function expectMatch(schema: unknown, value: unknown, where: string): void {
  expect([where, errorsOf(schema, value)]).toEqual([where, null]);
}
