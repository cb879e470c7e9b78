import { jest } from '@jest/globals';
import pg from 'pg';
import { newId } from '../../src/platform/ids.js';
import { startApi, type TestApi } from '../support/api.js';
import { makeEndpoint, makeTransfer } from '../support/factories.js';
import { waitFor } from '../support/wait-for.js';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());
afterEach(() => jest.restoreAllMocks());

const ROUTES = [
  ['the operator', (id: string) => `/operator/transfers/${id}/status`, { status: 'PROCESSING' }],
  ['a client in the sandbox', (id: string) => `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }],
  ['a client that cancels', (id: string) => `/transfers/${id}/cancel`, undefined],
] as const;

const CHANGES = 32;

/** @returns the statements that insert events while `work` runs. A lock holds up the first until all requests are there */
async function countEventStatements(work: () => Promise<unknown>): Promise<number> {
  const authenticate = jest.spyOn(api.dependencies.authority, 'authenticate');
  const query = jest.spyOn(pg.Client.prototype, 'query');
  const session = await api.database.openSession();
  await session.query('begin; lock table transfers in exclusive mode');
  const working = work();
  await waitFor('all requests', () => authenticate.mock.calls.length === CHANGES);
  await session.query('rollback');
  await working;
  const texts = query.mock.calls.map(([given]) =>
    typeof given === 'string' ? given : (given as { text?: string })?.text,
  );
  return texts.filter((text) => text?.includes('insert into events')).length;
}

describe.each(ROUTES)('changes at once by %s', (_, pathOf, json) => {
  it.each(['without a key', 'with keys'])('%s, share statements', async (how) => {
    const client = await api.client();
    const operator = await api.client(['operator']);
    await makeEndpoint(api.database, client.id);
    const transfers = await Promise.all(
      Array.from({ length: CHANGES }, () => makeTransfer(api.database, client.id, 'CREATED')),
    );
    const caller = pathOf('').startsWith('/operator') ? operator : client;
    const statements = await countEventStatements(() =>
      Promise.all(
        transfers.map(async ({ id }) => {
          const headers: Record<string, string> = how === 'with keys' ? { 'Idempotency-Key': newId() } : {};
          const { status } = await caller.call('POST', pathOf(id), { json, headers });
          expect(status).toBe(200);
        }),
      ),
    );
    expect(statements).toBeGreaterThan(0);
    expect(statements).toBeLessThanOrEqual(4);
  });
});
