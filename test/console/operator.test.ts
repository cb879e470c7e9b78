import { describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { showClient } from '../../src/auth/clients.js';
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

describe("a client's public keys", () => {
  const publicJwk = async (kid: string) => {
    const { publicKey } = await generateKeyPair('ES256', { extractable: true });
    return { ...(await exportJWK(publicKey)), kid };
  };
  /** The page of a new client in an operator's session, with what its first form sends. */
  async function open(fields: Record<string, string> = {}) {
    const { client_id: id } = await auth.client();
    const browser = await signedInBrowser(auth, await auth.client({ scopes: ['operator'] }), fields);
    const path = `/console/operator/clients/${id}`;
    const page = async () => (await browser.get(path)).text;
    const etag = async () => hiddenIn(await page(), 'etag');
    const send = async (end: string, sent: Record<string, string>) =>
      browser.post(`${path}/${end}`, { etag: await etag(), ...sent });
    return { id, browser, path, page, send };
  }
  const hiddenIn = (html: string, name: string) =>
    (new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '').replaceAll('&quot;', '"');

  test('are added, required instead of its secrets, and removed', async () => {
    const { id, browser, path, page, send } = await open();
    expect((await browser.get('/console/operator/clients?name=')).text).toContain(path);
    const [first, second] = [await publicJwk('<first>'), await publicJwk('second')];
    expect((await send('keys', { jwks: JSON.stringify(first) })).status).toBe(303);
    expect((await send('keys', { jwks: JSON.stringify({ keys: [second] }) })).status).toBe(303);
    const keys = async () => (await showClient(auth.database, id)).keys.map(({ kid }) => kid);
    expect(await keys()).toEqual(['<first>', 'second']);
    expect(await page()).toContain('&lt;first>');
    await send('require-private-key', { required: 'true' });
    expect((await showClient(auth.database, id)).requirePrivateKey).toBe(true);
    await send('keys/remove', { thumbprint: hiddenIn(await page(), 'thumbprint') });
    expect(await keys()).toEqual(['second']);
    const third = await publicJwk('third');
    await send('keys', { jwks: JSON.stringify(third), replace: 'on' });
    expect(await keys()).toEqual(['third']);
    await send('require-private-key', { required: 'false' });
    expect((await showClient(auth.database, id)).requirePrivateKey).toBe(false);
  });

  test('a private key is rejected at the field, and never shown again', async () => {
    const { send } = await open();
    const jwks = '{"kty":"OKP","crv":"Ed25519","x":"AA","d":"my-private-key"}';
    const { status, text } = await send('keys', { jwks });
    expect(status).toBe(422);
    expect(/<span class="field-error" id="error-jwks">([^<]*)/.exec(text)?.[1]).toContain(
      'key 1: d is a member of a private',
    );
    expect(text).not.toContain('my-private-key');
  });

  test('nothing is changed by a stale form, without a key, or in a session that only views', async () => {
    const { send } = await open();
    const jwks = JSON.stringify(await publicJwk('a'));
    expect((await send('keys', { jwks, etag: '"old"' })).status).toBe(412);
    expect((await send('require-private-key', { required: 'true' })).status).toBe(409);
    const viewer = await open({ role: 'viewer' });
    expect(await viewer.page()).not.toContain('name="jwks"');
    expect((await viewer.send('keys', { jwks })).status).toBe(403);
  });
});
