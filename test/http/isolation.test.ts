import { describe, expect, it } from '@jest/globals';
import { SCOPES } from '../../src/auth/caller.js';
import { apiRoutes } from '../../src/http/app.js';
import { exampleBody } from '../../src/http/openapi/schemas.js';
import type { Route } from '../../src/http/route.js';
import { newId } from '../../src/platform/ids.js';
import { openApi } from '../support/api.js';
import { deliverTo } from '../support/history.js';

const api = await openApi();
const [owner, stranger, operator] = [await api.client(), await api.client(), await api.client(['operator'])];
const routes = apiRoutes(api.dependencies);
const other = await api.client();
const history = await deliverTo(api, owner);
const now = new Date();
const { prisma } = api.database;
const ended = { clientId: owner.id, endpointId: history.webhookId, finishedAt: now };
const window = { since: now, until: now, includeMissing: false, count: 1, missing: 0 };
const recovery = await prisma.recovery.create({ data: { id: newId(), ...ended, ...window, status: 'completed' } });
const started = new Date(Date.now() - 60_000);
const check = await prisma.receiverCheck.create({ data: { id: newId(), ...ended, startedAt: started } });
const secret = await prisma.clientSecret.create({
  data: { id: newId(), clientId: other.id, hash: Buffer.alloc(32) },
});
/** The owner's ids, by the part of the path that precedes them. */
const ids: Record<string, string> = {
  ...{ transfers: history.transferId, 'webhook-endpoints': history.webhookId, events: history.eventId },
  ...{ deliveries: history.deliveryId, attempts: '1', checks: check.id, recoveries: recovery.id },
  ...{ clients: other.id, secrets: secret.id },
};

/** The route's path with the owner's ids, and a valid body. */
function requestTo(route: Route): { path: string; json: unknown } {
  const path = route.path.replace(/([\w-]+)\/{\w+}/g, (_, collection: string) => {
    const id = ids[collection];
    if (!id) throw new Error(`the test has nothing behind ${collection}`);
    return `${collection}/${id}`;
  });
  return { path, json: route.body && exampleBody(route.body) };
}

const name = ({ method, path }: Route) => `${method} ${path}`;

/** All rows of the owner that a request of another client could have changed. */
async function snapshot() {
  const where = { clientId: owner.id };
  return JSON.stringify(
    [
      await prisma.transfer.findMany({ where, include: { history: true } }),
      await prisma.endpoint.findMany({ where }),
      await prisma.event.findMany({ where }),
      await prisma.delivery.findMany({ where }),
      await prisma.receiverCheck.findMany({ where }),
    ],
    (_, value) => (typeof value === 'bigint' ? String(value) : value),
  );
}

describe('every route', () => {
  it("responds with 404 to another client's ids, and changes nothing", async () => {
    const before = await snapshot();
    const asked = routes.filter((route) => route.path.includes('{') && !route.scopes.includes('operator'));
    const responses = [];
    for (const route of asked) {
      const { path, json } = requestTo(route);
      for (const headers of [{}, ...(route.method === 'POST' ? [{ 'Idempotency-Key': `theirs ${path}` }] : [])]) {
        const { status, body } = await stranger.call(route.method, path, { json, headers });
        responses.push([name(route), status, body?.code]);
      }
    }
    expect(responses.length).toBeGreaterThan(10);
    expect(responses).toEqual(responses.map(([route]) => [route, 404, 'not_found']));
    expect(await snapshot()).toBe(before);
  });

  it('lists no item of another client', async () => {
    const lists = routes.filter(
      ({ method, path, scopes }) => method === 'GET' && !path.includes('{') && !scopes.includes('operator'),
    );
    expect(lists.length).toBeGreaterThan(2);
    for (const route of lists) {
      expect((await owner.call('GET', route.path)).body.data).not.toEqual([]);
      expect((await stranger.call('GET', route.path)).body).toEqual({ data: [], has_more: false, next_cursor: null });
    }
    expect((await stranger.call('GET', `/events?transfer_id=${ids.transfers}`)).body.data).toEqual([]);
  });

  it('responds with 403 without its scope, with or without all others', async () => {
    const responses = [];
    for (const route of routes) {
      const { path, json } = requestTo(route);
      for (const scopes of [SCOPES.filter((scope) => !route.scopes.includes(scope)), []]) {
        const caller = await api.client(scopes);
        const { status, headers, body } = await caller.call(route.method, path, { json });
        expect(headers.get('www-authenticate')).toMatch(/^Bearer .*error="insufficient_scope"/);
        responses.push([name(route), status, body.code]);
      }
    }
    expect(responses).toEqual(responses.map(([route]) => [route, 403, 'insufficient_scope']));
  });

  it('responds with 401 without a token', async () => {
    for (const route of routes) {
      const { path, json } = requestTo(route);
      const { status, headers, body } = await api.call(route.method, path, { json });
      expect([name(route), status, body.code]).toEqual([name(route), 401, 'unauthorized']);
      expect(headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
  });

  it('works for the owner with the same requests', async () => {
    const responses = [];
    // What ends an endpoint or a client runs last: the other requests need it.
    const ends = ({ method, path }: Route) => Number(method === 'DELETE' || path.endsWith('/revoke'));
    for (const route of [...routes].sort((a, b) => ends(a) - ends(b))) {
      const { path, json } = requestTo(route);
      const caller = route.scopes.includes('operator') ? operator : owner;
      const { status } = await caller.call(route.method, path, { json });
      responses.push([name(route), status]);
    }
    // The owner's transfer is SENT: neither the status of the examples nor /cancel is a valid transition. The
    // recovery has ended.
    const late = responses.filter(([, status]) => status === 409).map(([route]) => route);
    expect(late).toEqual([
      'POST /transfers/{id}/cancel',
      'POST /operator/transfers/{id}/status',
      'POST /sandbox/transfers/{id}/status',
      'POST /webhook-endpoints/{webhookId}/recoveries/{id}/cancel',
    ]);
    expect(responses.filter(([, status]) => Number(status) >= 400)).toHaveLength(late.length);
  });

  it('of the operator opens to its own scope, and not to the other one', async () => {
    const scopes = ['operator:transfers', 'operator:clients'] as const;
    const callers = await Promise.all(scopes.map(async (scope) => [scope, await api.client([scope])] as const));
    for (const route of routes) {
      const { path, json } = requestTo(route);
      for (const [scope, caller] of callers) {
        const { status } = await caller.call(route.method, path, { json });
        const opens = route.path.startsWith(`/${scope.replace(':', '/')}`);
        expect([name(route), scope, status !== 403]).toEqual([name(route), scope, opens]);
      }
    }
  });
});
