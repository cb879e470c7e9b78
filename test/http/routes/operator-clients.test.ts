import { describe, expect, it } from '@jest/globals';
import { hashSecret } from '../../../src/auth/clients.js';
import { apiRoutes } from '../../../src/http/app.js';
import { exampleBody } from '../../../src/http/openapi/schemas.js';
import { newId } from '../../../src/platform/ids.js';
import { Secret } from '../../../src/platform/secret.js';
import { openApi } from '../../support/api.js';
import { endpointRequest } from '../../support/transfers.js';

const api = await openApi();
const operator = await api.client(['operator:clients']);

const PATH = '/operator/clients';
const make = async (json: object = { name: 'Acme' }) => (await operator.call('POST', PATH, { json })).body;
const actions = async (target: string) =>
  (await api.database.prisma.auditEntry.findMany({ where: { target }, orderBy: { id: 'asc' } })).map((entry) => {
    expect(entry.actor).toBe(`client:${operator.id}`);
    return entry.action;
  });

describe('/operator/clients', () => {
  it('creates, reads, changes and revokes a client, with audit entries; the secret is in one response only', async () => {
    const json = { name: 'Acme', scopes: ['webhooks:read'], networks: ['10.0.0.0/8'], rate_limit: 5, max_endpoints: 1 };
    const { client_secret, secret_id, ...client } = await make(json);
    const { id } = (await api.database.prisma.clientSecret.findFirstOrThrow({
      where: { hash: hashSecret(new Secret(client_secret)) },
    }))!;
    expect([id, client]).toMatchObject([secret_id, { ...json, revoked_at: null, secrets: [{ secret_id }] }]);
    const one = `${PATH}/${client.client_id}`;
    expect((await operator.call('GET', one)).body).toEqual(client);
    const patched = await operator.call('PATCH', one, { json: { name: 'Émile', rate_limit: null, networks: [] } });
    expect(patched.body).toEqual({ ...client, name: 'Émile', rate_limit: null, networks: [] });
    expect((await operator.call('PATCH', one, { json: { name: null } })).status).toBe(422);
    expect((await operator.call('GET', `${PATH}?name=%C3%A9MILE`)).body.data).toEqual([patched.body]);
    expect((await operator.call('GET', `${PATH}?name=%25`)).body.data).toEqual([]);

    const second = await operator.call('POST', `${one}/secrets`, { json: { expire_old_after: '24h' } });
    expect([second.status, Object.keys(second.body).sort()]).toEqual([201, ['client_secret', 'secret_id']]);
    const third = await operator.call('POST', `${one}/secrets`, { json: {} });
    expect([third.status, third.body.code]).toEqual([409, 'two_secrets']);
    for (const named of [secret_id, second.body.secret_id]) expect(third.body.detail).toContain(named);
    expect((await operator.call('DELETE', `${one}/secrets/${secret_id}`)).status).toBe(204);
    expect((await operator.call('DELETE', `${one}/secrets/${newId()}`)).status).toBe(404);
    const link = await operator.call('POST', `${one}/console-sessions`, { json: {} });
    expect(link).toMatchObject({ status: 201, body: { url: expect.stringContaining('/console/sign-in/') } });
    expect((await operator.call('POST', `${one}/revoke`)).status).toBe(204);
    const read = await operator.call('GET', one);
    expect(read.body).toMatchObject({
      revoked_at: expect.any(String),
      secrets: [{ revoked_at: expect.any(String) }, {}],
    });
    expect(await actions(client.client_id)).toEqual([
      'clients.create',
      'clients.rename',
      'clients.allow',
      'clients.set-limits',
      'clients.rotate-secret',
      'clients.revoke-secret',
      'console.link',
      'clients.revoke',
    ]);
    const entries = await api.database.prisma.auditEntry.findMany();
    for (const secret of [client_secret, second.body.client_secret, link.body.url.split('#')[1]]) {
      expect(JSON.stringify([entries, read.body, third.body])).not.toContain(secret);
    }
  });

  it('sets, changes and removes where a client is told; URL and secret are in no response, entry or plain column', async () => {
    const url = 'https://example.com/told?token=t0ken-of-url';
    const notify = { notify_url: url, notify_secret: 'a secret of the notifications' };
    const { client_id, ...made } = await make({ name: 'Acme', ...notify });
    expect(made).toMatchObject({ notify_host: 'example.com' });
    const patch = async (json: object) => (await operator.call('PATCH', `${PATH}/${client_id}`, { json })).body;
    const row = () => api.database.prisma.client.findUniqueOrThrow({ where: { id: client_id } });
    const before = await row();
    expect(before).toMatchObject({ notifyUrl: url, notifySecretEnvelope: expect.stringMatching(/^v1:/) });
    const moved = await patch({ notify_url: 'https://example.org/' });
    expect(moved).toMatchObject({ notify_host: 'example.org' });
    expect((await row()).notifySecretEnvelope).toBe(before.notifySecretEnvelope);
    for (const [json, code, pointer] of [
      [{ notify_secret: null }, 'required', '/notify_secret'],
      [{ notify_secret: 'short' }, 'too_short', '/notify_secret'],
      [{ notify_url: 'ftp://example.com/' }, 'invalid_scheme', '/notify_url'],
      [{ notify_url: 'http://169.254.169.254/' }, 'blocked_address', '/notify_url'],
      [{ notify_url: 'https://example.com/a b' }, 'url_not_canonical', '/notify_url'],
    ] as const) {
      expect(await patch(json)).toMatchObject({ status: 422, errors: [{ code, pointer }] });
    }
    expect(await patch({ notify_url: null })).toMatchObject({ notify_host: null });
    expect(await row()).toMatchObject({ notifyUrl: null, notifySecretEnvelope: null });
    expect(await patch({ notify_secret: 'a secret of the notifications' })).toMatchObject({
      errors: [{ code: 'required', pointer: '/notify_url' }],
    });
    const entries = await api.database.prisma.auditEntry.findMany({ where: { target: client_id } });
    expect(entries.map(({ action }) => action).filter((action) => action === 'clients.set-notify')).toHaveLength(3);
    const seen = JSON.stringify([made, moved, entries, before.notifySecretEnvelope]);
    for (const secret of ['t0ken-of-url', 'of the notifications']) expect(seen).not.toContain(secret);
  });

  it('keeps no Idempotency-Key of a response with a secret or a link', async () => {
    const { client_id } = await make();
    const count = () => api.database.prisma.client.count();
    const before = await count();
    for (const path of ['', `/${client_id}/secrets`, `/${client_id}/console-sessions`]) {
      const sent = { json: path ? {} : { name: 'Acme' }, headers: { 'Idempotency-Key': 'k' } };
      const { status, body } = await operator.call('POST', `${PATH}${path}`, sent);
      expect([path, status, body.code]).toEqual([path, 422, 'idempotency_key_not_supported']);
    }
    expect([await count(), await api.database.prisma.idempotencyKey.count()]).toEqual([before, 0]);
    const revoke = { headers: { 'Idempotency-Key': 'k' } };
    expect((await operator.call('POST', `${PATH}/${client_id}/revoke`, revoke)).status).toBe(204);
  });

  it.each(['operator', 'operator:transfers', 'operator:clients'])('has no client with the scope %s', async (scope) => {
    const { id } = await api.client(['transfers:read', scope]);
    for (const route of apiRoutes(api.dependencies).filter(({ path }) => path.startsWith(`${PATH}/{id}`))) {
      const path = route.path.replace('{id}', id).replace('{secret_id}', newId());
      const { status, body } = await operator.call(route.method, path, { json: route.body && exampleBody(route.body) });
      expect([route.method, path, status, body.code]).toEqual([route.method, path, 404, 'not_found']);
    }
    const { data } = (await operator.call('GET', `${PATH}?limit=100`)).body;
    expect(data.map(({ client_id }: { client_id: string }) => client_id)).not.toContain(id);
    expect((await operator.call('POST', PATH, { json: { name: 'x', scopes: [scope] } })).status).toBe(422);
  });

  it('limits the endpoints of a client by its own maximum', async () => {
    const client = await api.client();
    const limit = (max_endpoints: number | null) =>
      operator.call('PATCH', `${PATH}/${client.id}`, { json: { max_endpoints } });
    const register = async () => {
      const json = endpointRequest({ url: `https://example.com/${newId()}` });
      return (await client.call('POST', '/webhook-endpoints', { json })).status;
    };
    await limit(0);
    expect(await register()).toBe(422);
    await limit(1);
    expect([await register(), await register()]).toEqual([201, 422]);
    await limit(null);
    expect(await register()).toBe(201);
  });
});
