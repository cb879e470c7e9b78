import { expect, test } from '@jest/globals';
import { openHeaders } from '../../src/endpoints/headers.js';
import { newId } from '../../src/platform/ids.js';
import { openAuthApi } from '../support/auth-api.js';
import { type ConsoleBrowser, signedInBrowser } from '../support/console.js';
import { makeTimeline } from '../support/console-data.js';
import { ENDPOINT_SECRET } from '../support/factories.js';

const auth = await openAuthApi();

const URL = 'https://hooks.example.com/in';
const FIELDS = { url: URL, secret: ENDPOINT_SECRET, description: 'Orders, live' };

async function editor() {
  const credentials = await auth.client();
  return { credentials, browser: await signedInBrowser(auth, credentials) };
}

async function register(browser: ConsoleBrowser, fields: Record<string, string> = {}): Promise<string> {
  const { status, headers, text } = await browser.post('/console/endpoints', { ...FIELDS, ...fields });
  expect([status, text]).toEqual([303, '']);
  return headers.get('Location') ?? '';
}

const stored = (path: string) =>
  auth.database.prisma.endpoint.findUniqueOrThrow({ where: { id: path.split('/').at(-1) ?? '' } });

test('a registered endpoint has a page, which never shows its secret, and an entry in the audit', async () => {
  const { browser, credentials } = await editor();
  const path = await register(browser);
  const { status, text } = await browser.get(path);
  expect(status).toBe(200);
  expect(text).toContain('The endpoint is registered.');
  expect(text).toContain('Orders, live');
  expect(text).not.toContain(ENDPOINT_SECRET);
  const { id } = await stored(path);
  const entry = await auth.database.prisma.auditEntry.findFirstOrThrow({ where: { target: id } });
  expect(entry).toMatchObject({ actor: `console:${credentials.client_id}`, action: 'endpoints.create' });
});

test('a URL that an enabled endpoint has is registered again only if a person confirms it', async () => {
  const { browser } = await editor();
  const path = await register(browser);
  const again = await browser.post('/console/endpoints', FIELDS);
  expect(again.status).toBe(422);
  expect(again.text).toContain(`is the URL of the enabled endpoint ${path.split('/').at(-1)}`);
  expect(again.text).toContain('name="again"');
  expect(await register(browser, { again: 'on' })).not.toBe(path);
});

test('the limits of an endpoint are edited', async () => {
  const { browser } = await editor();
  const path = await register(browser, { max_per_second: '5' });
  const edit = (fields: object) => browser.post(`${path}/edit`, { url: URL, ...fields });
  expect((await edit({ max_concurrency: '2', max_per_second: '0' })).status).toBe(422);
  await edit({ max_concurrency: '2', max_per_second: '7' });
  expect(await stored(path)).toMatchObject({ maxConcurrency: 2, maxPerSecond: 7 });
  expect((await browser.get(`${path}/edit`)).text).toContain('value="7"');
});

test('headers are kept where a value is empty, removed with their names, and never shown', async () => {
  const { browser } = await editor();
  const key = { header_name_1: 'X-Api-Key', header_value_1: 'the gateway key' };
  const path = await register(browser, key);
  const edit = async (fields: Record<string, string>) => {
    const sent = await browser.post(`${path}/edit`, { url: URL, ...fields });
    const { headerNames, headersEnvelope, id } = await stored(path);
    const own = openHeaders(auth.api.dependencies.masterKeys, id, headersEnvelope).map(({ value }) => value.reveal());
    return { status: sent.status, text: sent.text, headers: headerNames.map((name, i) => `${name}: ${own[i]}`) };
  };
  const shown = (await browser.get(`${path}/edit`)).text;
  expect(shown).toContain('value="X-Api-Key"');
  const renamed = await edit({ header_name_1: 'x-api-key', header_name_3: 'X-Team', header_value_3: 'the team' });
  expect(renamed.headers).toEqual(['x-api-key: the gateway key', 'X-Team: the team']);
  const refused = await edit({ ...key, header_name_4: 'Host', header_value_4: 'refused value' });
  expect([refused.status, refused.headers]).toEqual([422, renamed.headers]);
  expect(refused.text).toMatch(/id="error-header_name_4"/);
  for (const text of [shown, refused.text]) expect(text).not.toMatch(/the gateway key|refused value/);

  const second = await browser.post(`${path}/new-secret`, { secret: `${ENDPOINT_SECRET}2`, header_name_1: 'X-Team' });
  expect([second.status, second.text.includes('error-header_value_1')]).toEqual([422, true]);
  expect((await edit({ header_name_1: '', header_name_3: 'X-Team' })).headers).toEqual(['X-Team: the team']);
  expect((await edit({ header_name_1: '' })).headers).toEqual([]);
});

test("an editor never undoes another's change: a form that shows an older state is rejected and says what changed", async () => {
  const { browser } = await editor();
  const path = await register(browser);
  const hidden = (html: string) =>
    Object.fromEntries(
      Array.from(html.matchAll(/name="(etag|shown)" value="([^"]+)"/g), ([, name, value = '']) => [
        name,
        value.replaceAll('&quot;', '"'),
      ]),
    );
  const older = hidden((await browser.get(`${path}/edit`)).text);
  const first = await browser.post(`${path}/edit`, { url: `${URL}/first`, description: 'First', ...older });
  expect(first.status).toBe(303);
  const second = await browser.post(`${path}/edit`, { url: `${URL}/second`, description: 'Second', ...older });
  expect(second.status).toBe(412);
  expect(second.text).toContain('Someone changed this after your page was opened.');
  for (const text of [URL, `${URL}/first`, 'Orders, live', 'First']) {
    expect(second.text).toContain(`<bdi class="untrusted">${text}</bdi>`);
  }
  expect(second.text).toContain(`value="${URL}/second"`);
  expect(await stored(path)).toMatchObject({ url: `${URL}/first`, description: 'First' });
  // An invalid form keeps the state that it shows.
  const invalid = await browser.post(`${path}/edit`, { url: URL, description: 'x'.repeat(256), ...older });
  expect([invalid.status, hidden(invalid.text)]).toEqual([422, older]);
  for (const form of ['disable', 'delete', 'enable']) {
    expect((await browser.post(`${path}/${form}`, older)).status).toBe(412);
  }
  const again = await browser.post(`${path}/edit`, { url: `${URL}/second`, ...hidden(second.text) });
  expect(again.status).toBe(303);
  expect(await stored(path)).toMatchObject({ url: `${URL}/second`, description: null });
});

test('a disabled endpoint is shown on the overview with the way back, and enabling leads to what it missed', async () => {
  const { browser } = await editor();
  const path = await register(browser);
  expect((await browser.post(`${path}/disable`)).headers.get('Location')).toBe(path);
  expect(await stored(path)).toMatchObject({ enabled: false, disabledReason: 'owner', description: 'Orders, live' });
  const overview = await browser.get('/console');
  expect(overview.text).toContain('Disabled by you');
  expect(overview.text).toContain(`action="${path}/enable"`);
  const enabled = await browser.post(`${path}/enable`);
  expect(enabled.headers.get('Location')).toMatch(new RegExp(`^${path}/statement\\?since=`));
  expect(await stored(path)).toMatchObject({ enabled: true, disabledReason: null });
});

test('disabling asks on a page that counts what it cancels, and the next page shows the current count', async () => {
  const { browser, credentials } = await editor();
  const { endpointId } = await makeTimeline(auth.database, credentials.client_id);
  const path = `/console/endpoints/${endpointId}`;
  const pending = async () => /data-label="Pending">(\d+)/.exec((await browser.get(path)).text)?.[1];
  expect(await pending()).toBe('1');
  for (const page of ['disable', 'delete']) {
    expect((await browser.get(`${path}/${page}`)).text).toContain('1 pending delivery will be cancelled.');
  }
  await browser.post(`${path}/disable`);
  expect(await pending()).toBe('0');
  expect((await browser.get(`${path}/disable`)).text).toContain('No pending deliveries will be cancelled.');
});

test('a recovery reads its window as UTC and says how many deliveries start again', async () => {
  const { browser, credentials } = await editor();
  const { endpointId, deliveryId } = await makeTimeline(auth.database, credentials.client_id);
  await auth.database.prisma.delivery.update({ where: { id: deliveryId }, data: { status: 'failed' } });
  const path = `/console/endpoints/${endpointId}`;
  const since = new Date(Date.now() - 3_600_000).toISOString().slice(0, 16);
  const sent = await browser.post(`${path}/recover`, { since, until: '' });
  expect([sent.status, sent.headers.get('Location')]).toEqual([303, `${path}/recoveries`]);
  const recovery = await auth.database.prisma.recovery.findFirstOrThrow({ where: { endpointId } });
  expect(recovery).toMatchObject({ clientId: credentials.client_id, since: new Date(`${since}Z`) });
  const { text } = await browser.get(`${path}/recoveries`);
  expect(text).toContain('The recovery has started. It sends 1 delivery.');
  expect(text).toContain('>0 of 1<');
  const [, cancel = ''] = /action="([^"]*\/cancel)"/.exec(text) ?? [];
  expect((await browser.post(cancel, {})).headers.get('Location')).toBe(`${path}/recoveries`);
  const after = (await browser.get(`${path}/recoveries`)).text;
  expect(after).toContain('The recovery is cancelled.');
  expect(after).not.toContain(cancel);
  expect((await browser.post(cancel, {})).status).toBe(409);
  const wrong = await browser.post(`${path}/recover`, { since: 'yesterday' });
  expect(wrong.status).toBe(422);
});

test('the switch-over keeps no state: the second endpoint is found again, and only it permits deleting the first', async () => {
  const { browser, credentials } = await editor();
  const first = await register(browser);
  const refused = await browser.post(`${first}/new-secret`, { secret: 'short' });
  expect(refused.status).toBe(422);
  expect(refused.text).toMatch(/id="error-secret"/);
  await register(browser, { url: `${URL}/other` });
  expect((await browser.post(`${first}/new-secret/delete-first`)).status).toBe(404);
  const registered = await browser.post(`${first}/new-secret`, { secret: `${ENDPOINT_SECRET} 2` });
  expect(registered.headers.get('Location')).toBe(`${first}/new-secret`);
  const { id: second } = await auth.database.prisma.endpoint.findFirstOrThrow({
    where: { url: URL, clientId: credentials.client_id },
    orderBy: { id: 'desc' },
  });
  expect(await stored(second)).toMatchObject({ url: URL, description: 'Orders, live' });
  const { text } = await browser.get(`${first}/new-secret`);
  expect(text).toContain(`href="/console/endpoints/${second}"`);
  expect(text).toContain('The second has received nothing yet.');
  await browser.post(`/console/endpoints/${second}/disable`);
  expect((await browser.get(`${first}/new-secret`)).text).not.toContain('delete-first');
  expect((await browser.post(`${first}/new-secret/delete-first`)).status).toBe(404);
  await browser.post(`/console/endpoints/${second}/enable`);
  const done = await browser.post(`${first}/new-secret/delete-first`);
  expect(done.headers.get('Location')).toBe(`/console/endpoints/${second}`);
  expect((await stored(first)).deletedAt).not.toBeNull();
});

test('the switch-over does not delete the first endpoint while the second is being disabled', async () => {
  const { browser, credentials } = await editor();
  const first = await register(browser);
  await browser.post(`${first}/new-secret`, { secret: `${ENDPOINT_SECRET} 2` });
  const session = await auth.database.openSession();
  await session.query('begin');
  await session.query(
    `update webhook_endpoints set enabled = false
      where id = (select id from webhook_endpoints where client_id = $1 order by id desc limit 1)`,
    [credentials.client_id],
  );
  const deletion = browser.post(`${first}/new-secret/delete-first`);
  await auth.database.untilBlocked();
  await session.query('commit');
  expect([(await deletion).status, (await stored(first)).deletedAt]).toEqual([412, null]);
});

test('the switch-over never cancels a delivery that only the first endpoint has', async () => {
  const { browser, credentials } = await editor();
  const first = await register(browser);
  const endpointId = first.split('/').at(-1) ?? '';
  const nextAttemptAt = new Date(Date.now() + 240_000);
  const { eventId } = await makeTimeline(auth.database, credentials.client_id, { endpointId, nextAttemptAt });
  await browser.post(`${first}/new-secret`, { secret: `${ENDPOINT_SECRET} 2` });
  const { text } = await browser.get(`${first}/new-secret`);
  expect(text).toContain('Pending at the first endpoint alone: 1 delivery.');
  expect(text).not.toContain('delete-first');
  const refused = await browser.post(`${first}/new-secret/delete-first`);
  expect([refused.status, (await stored(first)).deletedAt]).toEqual([412, null]);
  const [, recovery = '', second = ''] = /href="([^"]*\/([^/]*)\/statement\?since=[^"]*)"/.exec(text) ?? [];
  expect(second).not.toBe(endpointId);
  expect((await browser.get(recovery)).text).toContain('Recover 1 event');
  // As the recovery does.
  await auth.database.prisma.delivery.create({
    data: { id: newId(), eventId, endpointId: second, clientId: credentials.client_id, ladder: '', nextAttemptAt },
  });
  expect((await browser.get(`${first}/new-secret`)).text).toContain('Delete the first endpoint');
  await browser.post(`${first}/new-secret/delete-first`);
  expect((await stored(first)).deletedAt).not.toBeNull();
});

test('the overview and the list have every endpoint of a client with more than a hundred', async () => {
  const { browser, credentials } = await editor();
  const oldest = await register(browser);
  await auth.database.prisma.endpoint.createMany({
    data: Array.from({ length: 100 }, () => ({ id: newId(), clientId: credentials.client_id, url: URL })),
  });
  for (const page of ['/console', '/console/endpoints']) {
    const { text } = await browser.get(page);
    expect(text).toContain(oldest);
    expect(text).toMatch(/\b101\b/);
  }
});
