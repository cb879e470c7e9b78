import { expect, test } from '@jest/globals';
import { EndpointHours } from '../../src/endpoints/hours.js';
import { openAuthApi } from '../support/auth-api.js';
import { signedInBrowser } from '../support/console.js';
import { makeTimeline } from '../support/console-data.js';
import { outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

const auth = await openAuthApi();

test("a session of a client with the scope `operator` opens the operator's page, and nothing else", async () => {
  const { client_id: clientId } = await auth.client({ name: 'Acme <b>' });
  const { endpointId } = await makeTimeline(auth.database, clientId);
  const hours = new EndpointHours(auth.database, silentLog);
  hours.count(endpointId, { ...outcome(), startedAt: new Date(Date.now() - 1_000) }, clientId);
  hours.count(endpointId, { ...refusedBy(401), startedAt: new Date() }, clientId);
  await hours.write();
  const operator = await signedInBrowser(auth, await auth.client({ scopes: ['transfers:read', 'operator'] }));
  const overview = await operator.get('/console');
  expect([overview.status, overview.headers.get('Location')]).toEqual([303, '/console/operator']);
  const { status, text } = await operator.get('/console/operator');
  expect(status).toBe(200);
  expect(text).toContain('Acme &lt;b>');
  expect(text).toContain('50 % of 2');
  expect(text).toContain('1 failing and 0 disabled endpoints of 1');
  expect([...text.matchAll(/method="post" action="([^"]*)"/g)].map(([, action]) => action)).toEqual([
    '/console/sign-out',
  ]);
  for (const path of ['transfers', 'deliveries', 'settings', 'search?q=a', `endpoints/${endpointId}`]) {
    expect([path, (await operator.get(`/console/${path}`)).status]).toEqual([path, 403]);
  }
  expect((await operator.post(`/console/endpoints/${endpointId}/disable`)).status).toBe(403);
  expect((await operator.post('/console/sign-out')).status).toBe(303);
});

test("a client without that scope does not open the operator's page", async () => {
  const browser = await signedInBrowser(auth, await auth.client());
  expect((await browser.get('/console/operator')).status).toBe(403);
  expect((await browser.get('/console')).text).not.toContain('/console/operator');
});
