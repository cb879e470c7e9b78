import { expect, test } from '@jest/globals';
import { disableEndpoint } from '../../../src/endpoints/disable.js';
import { notifyOperator } from '../../../src/endpoints/notifications.js';
import { openAuthApi } from '../../support/auth-api.js';
import { signedInBrowser } from '../../support/console.js';
import { makeEndpoint } from '../../support/factories.js';

const auth = await openAuthApi();

test('the bell counts what came since the last visit of its page, which links to what failed', async () => {
  const { database } = auth;
  const [credentials, others] = [await auth.client(), await auth.client()];
  const browser = await signedInBrowser(auth, credentials);
  const seen = async () =>
    /(\d+)<span class="visually-hidden"> new/.exec((await browser.get('/console/settings')).text)?.[1];
  expect(await seen()).toBeUndefined();
  const disabled = await makeEndpoint(database, credentials.client_id);
  const foreign = await makeEndpoint(database, others.client_id, { url: 'https://foreign.example.com/' });
  for (const { id } of [disabled, foreign]) await database.transaction((tx) => disableEndpoint(tx, id, 'gone'));
  await database.transaction((tx) => notifyOperator(tx, 'workflows.behind', { events: 1 }));
  expect(await seen()).toBe('1');
  const { text } = await browser.get('/console/notifications');
  expect(text).toContain('Disabled (gone); 0 deliveries cancelled');
  expect(text).toContain(`href="/console/endpoints/${disabled.id}"`);
  expect(text).not.toMatch(/foreign\.example\.com|Workflows are behind/);
  expect(await seen()).toBeUndefined();
});

test('the operator is told of workflows that are behind once an hour', async () => {
  const tell = () => auth.database.transaction((tx) => notifyOperator(tx, 'workflows.behind', { events: 2 }));
  await auth.database.query('delete from notifications', []);
  expect([await tell(), await tell()]).toEqual([true, false]);
  await auth.database.query(`update notifications set created_at = now() - interval '61 minutes'`, []);
  expect(await tell()).toBe(true);
});
