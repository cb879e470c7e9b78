import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import type { TransferServiceClient } from '../../../clients/typescript/src/client.js';
import type { OperationId } from '../../../clients/typescript/src/operations.js';
import { openStubService } from '../../support/stub-service.js';
import { endpointRequest, transferRequest } from '../../support/transfers.js';

const root = join(import.meta.dirname, '../../..');
const generated = readFileSync(join(root, 'clients/typescript/src/generated/openapi.ts'), 'utf8');
const load = (path: string) => import(pathToFileURL(join(root, path)).href);

interface Document {
  paths: Record<string, Record<string, { operationId: OperationId }>>;
}

const { clientDocument, digestOf } = await load('scripts/client/document.mjs');
const document: Document = clientDocument();
const digest: string = digestOf(document);
const stub = await openStubService();

describe('the types', () => {
  test("are made from the service's present OpenAPI document; if not, run `npm run client:types`", () => {
    expect(/^\/\/ Document: (\S+)$/m.exec(generated)?.[1]).toBe(digest);
  });

  test('are what the generator writes', async () => {
    const { generateTypes } = await load('clients/tooling/generate-types.mjs');
    expect(await generateTypes(document)).toBe(generated);
  });
});

/** Their responses hold a secret or a link. */
const SECRET = new Set(['createConsoleSession', 'createClient', 'createClientSecret', 'createClientConsoleSession']);
const id = '0192f0c1-2f3a-7b4c-8d5e-6f708192a3b4';
const since = '2026-11-21T00:00:00Z';
const status = { status: 'SENT' } as const;

/** The client requests tokens by itself, and pages and texts are for readers. */
const WITHOUT_CALL = ['requestToken', 'getIndex', 'getDocs', 'getGuide', 'getGuideMarkdown', 'getLlmsText'] as const;

/** A call of each operation; the compiler rejects an incomplete list. */
const CALLS: Record<
  Exclude<OperationId, (typeof WITHOUT_CALL)[number]>,
  (client: TransferServiceClient) => Promise<unknown>
> = {
  createTransfer: (client) => client.transfers.create(transferRequest()),
  listTransfers: (client) => client.transfers.list().page(),
  getTransfer: (client) => client.transfers.get(id),
  cancelTransfer: (client) => client.transfers.cancel(id),
  registerWebhookEndpoint: (client) => client.webhookEndpoints.register(endpointRequest()),
  listWebhookEndpoints: (client) => client.webhookEndpoints.list().page(),
  getWebhookEndpoint: (client) => client.webhookEndpoints.get(id),
  updateWebhookEndpoint: (client) => client.webhookEndpoints.update(id, { url: 'https://example.com/' }),
  patchWebhookEndpoint: (client) => client.webhookEndpoints.patch(id, { description: null }),
  deleteWebhookEndpoint: (client) => client.webhookEndpoints.delete(id),
  getWebhookEndpointHealth: (client) => client.webhookEndpoints.health(id),
  listEndpointDeliveries: (client) => client.webhookEndpoints.listDeliveries(id).page(),
  recoverWebhookEndpoint: (client) => client.webhookEndpoints.recover(id, { since }),
  listRecoveries: (client) => client.webhookEndpoints.listRecoveries(id).page(),
  getRecovery: (client) => client.webhookEndpoints.getRecovery(id, id),
  cancelRecovery: (client) => client.webhookEndpoints.cancelRecovery(id, id),
  getWebhookEndpointStatement: (client) => client.webhookEndpoints.statement(id, { since }),
  checkReceiver: (client) => client.webhookEndpoints.check(id),
  getReceiverCheck: (client) => client.webhookEndpoints.getCheck(id, id),
  listEvents: (client) => client.events.list().page(),
  getEvent: (client) => client.events.get(id),
  listEventDeliveries: (client) => client.events.listDeliveries(id).page(),
  listDeliveries: (client) => client.deliveries.list().page(),
  getDelivery: (client) => client.deliveries.get(id),
  listAttempts: (client) => client.deliveries.listAttempts(id).page(),
  retryDelivery: (client) => client.deliveries.retry(id),
  explainSignature: (client) => client.deliveries.explainSignature(id, 1, { v0: 'abc' }),
  createConsoleSession: (client) => client.consoleSessions.create(),
  setSandboxTransferStatus: (client) => client.sandbox.setTransferStatus(id, status),
  listOperatorTransfers: (client) => client.operator.listTransfers({ order: 'oldest' }).page(),
  getOperatorTransfer: (client) => client.operator.getTransfer(id),
  createClient: (client) => client.operator.createClient({ name: 'Acme' }),
  listClients: (client) => client.operator.listClients().page(),
  getClient: (client) => client.operator.getClient(id),
  patchClient: (client) => client.operator.patchClient(id, { rate_limit: null }),
  createClientSecret: (client) => client.operator.createClientSecret(id),
  setClientKeys: (client) => client.operator.setClientKeys(id, { keys: [] }),
  revokeClientSecret: (client) => client.operator.revokeClientSecret(id, id),
  revokeClient: (client) => client.operator.revokeClient(id),
  createClientConsoleSession: (client) => client.operator.createConsoleSession(id),
  setTransferStatus: (client) => client.operator.setTransferStatus(id, status),
  getMeta: (client) => client.service.meta(),
  getHealth: (client) => client.service.health(),
  getReadiness: (client) => client.service.readiness(),
  getOpenApi: (client) => client.service.openApi(),
  getSignatureVectors: (client) => client.service.signatureVectors(),
  getJwks: (client) => client.service.jwks(),
  getAuthorizationServer: (client) => client.service.authorizationServer(),
  getOpenIdConfiguration: (client) => client.service.openIdConfiguration(),
};

describe('every operation of the document has a method', () => {
  test('that this test calls', () => {
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(ids.sort()).toEqual([...WITHOUT_CALL, ...Object.keys(CALLS)].sort());
  });

  test.each(Object.entries(CALLS))('%s: it sends the request that the document describes', async (name, call) => {
    await call(stub.client());
    const { method = '', url = '', headers } = stub.requests[0] ?? {};
    const [path, methods] = Object.entries(document.paths).find(
      ([path]) =>
        new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(url.split('?')[0] ?? '') &&
        method.toLowerCase() in (document.paths[path] ?? {}),
    ) ?? ['', {}];
    expect([url, path, methods[method.toLowerCase()]?.operationId]).toEqual([url, path, name]);
    // Only POSTs are kept under a key, and none whose response is a secret or a link.
    expect(headers?.['idempotency-key'] !== undefined).toBe(method === 'POST' && !SECRET.has(name));
  });
});
