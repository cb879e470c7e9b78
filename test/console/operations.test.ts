import { describe, expect, test } from '@jest/globals';
import type { ConsoleSession } from '../../src/auth/console-sessions.js';
import { type Operations, operationsOf } from '../../src/console/operations.js';
import { apiRoutes } from '../../src/http/app.js';
import { newId } from '../../src/platform/ids.js';
import { Refusal } from '../../src/platform/refusal.js';
import { openApi } from '../support/api.js';
import { endpointRequest, transferRequest } from '../support/transfers.js';

const api = await openApi();
const client = await api.client();

const ALL = ['transfers:read', 'transfers:write', 'webhooks:read', 'webhooks:write'];

function session(scopes: readonly string[] = ALL, clientId = client.id): ConsoleSession {
  const acting = { id: newId(), clientId, role: 'editor', address: '203.0.113.7', signedInBy: 'link' } as const;
  return {
    ...acting,
    clientName: 'Acme',
    secretId: null,
    scopes: new Set(scopes),
    rateLimit: null,
    maxEndpoints: null,
    notice: null,
    now: 0,
  };
}

const operations = (of = session()): Operations => operationsOf(apiRoutes(api.dependencies), api.database, of);

const entries = (of: ConsoleSession) =>
  api.database.prisma.auditEntry.findMany({ where: { actor: `console:${of.clientId}` }, orderBy: { id: 'desc' } });

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  );

test('a read gives what the API gives', async () => {
  const { body } = await client.call('POST', '/transfers', { json: transferRequest() });
  expect(await operations().read('getTransfer', { params: { id: body.id.toUpperCase() } })).toEqual(
    (await client.call('GET', `/transfers/${body.id}`)).body,
  );
  expect(await operations().read('listTransfers', { query: { limit: '1' } })).toEqual(
    (await client.call('GET', '/transfers?limit=1')).body,
  );
});

test('a change gives what the API gives, with an audit entry of the session', async () => {
  const of = session();
  const made = await operations(of).change<{ webhookId: string }>('registerWebhookEndpoint', {
    body: endpointRequest(),
  });
  expect((await client.call('GET', `/webhook-endpoints/${made.webhookId}`)).body).toEqual(made);
  expect(await operations(of).change('deleteWebhookEndpoint', { params: { webhookId: made.webhookId } })).toBe(
    undefined,
  );
  const acting = { session: of.id, role: 'editor', address: '203.0.113.7', signed_in_by: 'link' };
  expect(await entries(of)).toMatchObject([
    { action: 'endpoints.delete', target: made.webhookId, details: acting },
    { action: 'endpoints.create', target: made.webhookId, details: acting },
  ]);
  expect(JSON.stringify(await entries(of))).not.toContain(endpointRequest().secret);
});

test('a change that the API does not record has an audit entry of the session', async () => {
  const of = session(ALL, (await api.client()).id);
  const { id } = await operations(of).change<{ id: string }>('createTransfer', { body: transferRequest() });
  expect(await entries(of)).toMatchObject([
    { action: 'console.create-transfer', target: id, details: { session: of.id, role: 'editor' } },
  ]);
});

describe('an error', () => {
  test('is that of the API, and leaves no audit entry', async () => {
    const other = await api.client();
    const of = session(ALL, other.id);
    const { body } = await client.call('POST', '/transfers', { json: transferRequest() });
    expect(await refusal(operations(of).read('getTransfer', { params: { id: body.id } }))).toBe('not_found');
    expect(await refusal(operations(of).read('getTransfer', { params: { id: 'x' } }))).toBe('not_found');
    expect(await refusal(operations(of).read('listTransfers', { query: { lim: '1' } }))).toBe('invalid_request');
    expect(await refusal(operations(of).change('cancelTransfer', { params: { id: body.id } }))).toBe('not_found');
    expect(await refusal(operations(of).change('registerWebhookEndpoint', { body: { url: 1 } }))).toBe(
      'invalid_request',
    );
    expect(await refusal(operations(of).read('nothing'))).toBe('not_found');
    expect(await entries(of)).toEqual([]);
  });

  test('is the response to an operation whose scope the session lacks', async () => {
    const reading = operations(session(['webhooks:read']));
    expect(await refusal(reading.read('listTransfers'))).toBe('insufficient_scope');
    expect(await refusal(reading.change('registerWebhookEndpoint', { body: endpointRequest() }))).toBe(
      'insufficient_scope',
    );
    const all = operations(session([...ALL]));
    const change = { params: { id: newId() }, body: { status: 'SENT' } };
    expect(await refusal(all.change('setTransferStatus', change))).toBe('insufficient_scope');
  });
});
