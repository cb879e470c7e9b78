import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ExplainedDatabase, nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { CLIENT_SCOPES } from '../../src/auth/caller.js';
import { startSession } from '../../src/auth/console-sessions.js';
import { sessionCookie } from '../../src/console/guard.js';
import { startApi, type TestApi } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeEndpoint, masterKeys } from '../support/factories.js';

let db: TestDatabase;
let explained: ExplainedDatabase;
let api: TestApi;
beforeAll(async () => {
  db = await createTestDatabase();
  explained = openExplained(db.url.reveal());
  api = await startApi({ database: db, dependencies: { database: explained, masterKeys } });
});
afterAll(async () => {
  await api?.close();
  await explained?.close();
  await db?.drop();
});

async function cookieOf(clientId: string): Promise<string> {
  const grant = { clientId, secretId: null, role: 'editor', scopes: CLIENT_SCOPES } as const;
  const by = { signedInBy: 'operator-link', address: '127.0.0.1' } as const;
  const { token } = await db.transaction((tx) => startSession(tx, grant, by));
  return sessionCookie(api.dependencies.config.baseUrl).set(token).split(';')[0] ?? '';
}

const HOURS = `
insert into endpoint_hours (endpoint_id, hour, succeeded, failed, answer_times)
select id, hour, 9, 1, '{1,2,3}'
  from (select id from webhook_endpoints where client_id = $1::uuid union all select $1::uuid) e,
       generate_series(date_trunc('hour', now()) - interval '30 days', now(), '1 hour') hour
on conflict do nothing`;

test('the overview of 100 endpoints runs no more statements than that of one, and plots 30 days from the totals of the client', async () => {
  const { id } = await api.client();
  const reads = async (count: number) => {
    for (let i = 0; i < count; i++) await makeEndpoint(db, id);
    await db.query(HOURS, [id]);
    await db.query('analyze endpoint_hours', []);
    explained.plans();
    const headers = { Cookie: await cookieOf(id) };
    expect((await api.call('GET', '/console?period=30d', { headers })).status).toBe(200);
    return explained.plans();
  };
  const one = await reads(1);
  const hundred = await reads(99);
  const texts = (plans: typeof one) => plans.map((plan) => plan['Query Text']).sort();
  // On a slow machine, Postgres may end the read of their health, which the page then lacks.
  expect(texts(one)).toEqual(expect.arrayContaining(texts(hundred)));
  expect(hundred.length).toBeLessThanOrEqual(one.length);
  const plotted = hundred.filter((plan) => /from endpoint_hours\s+where endpoint_id = \$1/.test(plan['Query Text']));
  expect(plotted).toHaveLength(1);
  expect(Math.max(...plotted.flatMap(({ Plan }) => nodesOf(Plan).map(rowsOf)))).toBeLessThanOrEqual(30 * 24 + 1);
});
