import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { verify, verifyStandard } from '../../../clients/typescript/src/verify.js';
import { sign } from '../../../src/delivery/sender/headers.js';
import { Secret } from '../../../src/platform/secret.js';
import { openAuthApi } from '../../support/auth-api.js';
import { signedInBrowser } from '../../support/console.js';
import { makeTimeline } from '../../support/console-data.js';
import { splitRequest } from '../../support/delivered.js';
import { ENDPOINT_SECRET, masterKeys } from '../../support/factories.js';
import { setUses } from '../../support/limits.js';
import { startRawReceiver } from '../../support/raw-receiver.js';

const auth = await openAuthApi({ dependencies: { masterKeys } });

async function visitor(fields: Record<string, string> = {}, scopes?: string[]) {
  const credentials = await auth.client(scopes ? { scopes } : {});
  return { clientId: credentials.client_id, browser: await signedInBrowser(auth, credentials, fields) };
}

describe('the page of an event', () => {
  test('shows the exact body, what happens next, the attempts and the remaining rungs', async () => {
    const { clientId, browser } = await visitor();
    const { eventId, deliveryId, body, transferId } = await makeTimeline(auth.database, clientId);
    const { status, text } = await browser.get(`/console/events/${eventId}`);
    expect(status).toBe(200);
    expect(text).toContain(body.replaceAll('"', '&quot;'));
    expect(text).toContain('  &quot;version&quot;: ');
    expect(text).toContain('Waiting: attempt 3 is planned.');
    expect(text).toMatch(/next <time [^>]*>in 4 min<\/time>/);
    expect(text).toContain('The receiver responded with 503.');
    expect(text).toMatch(/0 of 1 delivered<\/span><span class="muted"> · 1 pending/);
    expect(text).toContain('If this extra attempt fails, ');
    expect([...text.matchAll(/class="rung (\w+)/g)].map(([, kind]) => kind)).toEqual([
      ...['bad', 'bad'],
      ...['planned', 'planned', 'planned', 'planned', 'planned'],
    ]);
    expect(text).toContain(`action="/console/events/${eventId}/retry"`);
    expect(text).toContain(`name="delivery" value="${deliveryId}"`);
    expect(text).toContain(`href="/console/transfers/${transferId}"`);
  });

  test("shows summaries: the receiver's bytes stay on the page of the attempt", async () => {
    const { clientId, browser } = await visitor();
    const responseBody = 'from the receiver';
    const { eventId, deliveryId } = await makeTimeline(auth.database, clientId, { responseBody });
    expect((await browser.get(`/console/events/${eventId}`)).text).not.toContain(responseBody);
    expect((await browser.get(`/console/deliveries/${deliveryId}/attempts/2`)).text).toContain(responseBody);
  });

  test('needs webhooks:read, and links to a transfer only with transfers:read', async () => {
    const { clientId, browser } = await visitor({}, ['webhooks:read']);
    const { eventId, transferId } = await makeTimeline(auth.database, clientId);
    const { status, text } = await browser.get(`/console/events/${eventId}`);
    expect(status).toBe(200);
    expect(text).not.toContain(`href="/console/transfers/${transferId}"`);
    expect(text).not.toContain('Retry now');
    const other = await visitor({}, ['transfers:read']);
    for (const path of ['events', 'deliveries', `events/${eventId}`]) {
      expect((await other.browser.get(`/console/${path}`)).status).toBe(403);
    }
  });
});

describe('hostile texts', () => {
  const responseBody = `</pre><script>alert(1)</script>\u202egpj.exe\u0001${'\u0002'.repeat(4_000)} https://evil.example`;

  test('of a receiver are shown as text, with unseen characters visible, and never as links', async () => {
    const { clientId, browser } = await visitor();
    const url = 'https://hooks.example.com/\u202e?<b>&"';
    const responseHeaders = { location: 'javascript:alert(1)', server: '"><img src=x onerror=alert(1)>' };
    const { deliveryId } = await makeTimeline(auth.database, clientId, { responseBody, responseHeaders, url });
    const { text } = await browser.get(`/console/deliveries/${deliveryId}/attempts/1`);
    expect(text).not.toMatch(/<script>alert|<img|<b>&|href="javascript|href="https/);
    expect(text).toContain('&lt;/pre>&lt;script>alert(1)&lt;/script><span class="unseen">U+202E</span>gpj.exe');
    expect(text).toContain('U+0001 U+0002×4000');
    expect(text).toContain('<dd><bdi class="untrusted">javascript:alert(1)</bdi></dd>');
  });

  test('in the filters of a list are rejected or escaped', async () => {
    const { browser } = await visitor();
    const hostile = '"><script>alert(1)</script>';
    for (const path of ['deliveries?response', 'deliveries?status', 'deliveries?created_after', 'transfers?status']) {
      const { status, text } = await browser.get(`/console/${path}=${encodeURIComponent(hostile)}`);
      expect([path, status]).toEqual([path, 422]);
      expect(text).not.toContain('<script>alert');
    }
    for (const path of ['deliveries?cursor', 'events?cursor', 'transfers?cursor']) {
      expect((await browser.get(`/console/${path}=damaged`)).status).toBe(422);
    }
    const { text } = await browser.get(`/console/transfers?reference=${encodeURIComponent(hostile)}`);
    expect(text).toContain('value="&quot;>&lt;script>');
  });
});

describe('the page of an attempt', () => {
  test('shows the request, whose signature is masked, and what was odd about the response', async () => {
    const { clientId, browser } = await visitor();
    const { deliveryId, body } = await makeTimeline(auth.database, clientId, { detail: 'The head is odd.' });
    const { t } = await auth.database.prisma.attempt.findFirstOrThrow({ where: { deliveryId } });
    const v0 = sign({ secret: new Secret(ENDPOINT_SECRET), t, body });
    const { text } = await browser.get(`/console/deliveries/${deliveryId}/attempts/1`);
    expect(text).toContain(`t=${t},v0=${'*'.repeat(64)}`);
    expect(text).toContain('The head is odd.');
    expect(text).not.toContain(v0);
    expect(text).not.toContain(ENDPOINT_SECRET);
  });

  test.each([
    ['of the standard', `whsec_${Buffer.alloc(32, 7).toString('base64')}`],
    ['of another form', ENDPOINT_SECRET],
  ])('copies a command that sends it signed anew, with a secret %s, and the own headers', async (_, secret) => {
    const { clientId, browser } = await visitor();
    const { deliveryId, endpointId, body } = await makeTimeline(auth.database, clientId);
    const receiver = await startRawReceiver('HTTP/1.1 204 x\r\nConnection: close\r\n\r\n');
    const own = { signatures: ['standard'], headerNames: ['X-Api-Key'] };
    await auth.database.prisma.endpoint.update({ where: { id: endpointId }, data: own });
    await auth.database.prisma.attempt.updateMany({ where: { deliveryId }, data: { url: receiver.url } });
    const { text } = await browser.get(`/console/deliveries/${deliveryId}/attempts/1`);
    expect(text).toMatch(/webhook-signature.*v1,\*\*\*.*X-Api-Key.*\*\*\*/s);
    const unescaped = { '&quot;': '"', '&lt;': '<', '&gt;': '>', '&amp;': '&' } as Record<string, string>;
    const command = /data-copy="(BODY=[^"]+)"/
      .exec(text)?.[1]
      ?.replace(/&(quot|lt|gt|amp);/g, (one) => unescaped[one] ?? '');
    const env = { ...process.env, WEBHOOK_SECRET: secret, HEADER_X_API_KEY: 'the key', no_proxy: '*' };
    await promisify(execFile)('sh', ['-c', command ?? 'exit 1'], { env });
    const { head, body: sent } = splitRequest(receiver.requests[0] ?? '');
    const headers = Object.fromEntries(
      [...head.matchAll(/\r\n([^:]+): (.*)/g)].map(([, name, value]) => [name, value]),
    );
    expect([sent, headers['X-Api-Key']]).toEqual([body, 'the key']);
    expect(() => verify({ header: headers['Service-Signature'], body: sent, secret })).not.toThrow();
    expect(() => verifyStandard({ headers, body: sent, secret })).not.toThrow();
    await receiver.close();
  });

  test('explains a rejected signature without showing what was given', async () => {
    const { clientId, browser } = await visitor();
    const { deliveryId, body } = await makeTimeline(auth.database, clientId, { outcomes: [401] });
    const path = `/console/deliveries/${deliveryId}/attempts/1`;
    const { t } = await auth.database.prisma.attempt.findFirstOrThrow({ where: { deliveryId } });
    const v0 = sign({ secret: new Secret(ENDPOINT_SECRET), t, body: `${body}\n` });
    const { status, headers } = await browser.post(`${path}/explain-signature`, { v0 });
    expect([status, headers.get('location')]).toEqual([303, path]);
    const { text } = await browser.get(path);
    expect(text).toContain('body_with_newline: White space or a line break was added around the body');
    expect(text).not.toContain(v0);
    const refused = await browser.post(`${path}/explain-signature`, { v0: `x${v0.repeat(9)}` });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('may have at most 512 characters');
    expect(refused.text).not.toContain(v0);
  });
});

describe('retry now', () => {
  const isQueued = async (deliveryId: string) =>
    (await auth.database.prisma.queuedAttempt.count({ where: { deliveryId, trigger: 'manual' } })) === 1;

  test("queues an attempt of the delivery and leads to its event's page", async () => {
    const { clientId, browser } = await visitor();
    const { eventId, deliveryId } = await makeTimeline(auth.database, clientId);
    const { status, headers } = await browser.post(`/console/events/${eventId}/retry`, { delivery: deliveryId });
    expect([status, headers.get('location')]).toEqual([303, `/console/events/${eventId}?delivery=${deliveryId}`]);
    expect(await isQueued(deliveryId)).toBe(true);
  });

  type Timeline = Awaited<ReturnType<typeof makeTimeline>>;
  test.each([
    [
      'endpoint_not_active',
      ({ endpointId: id }: Timeline) =>
        auth.database.prisma.endpoint.update({ where: { id }, data: { enabled: false } }),
      ...[409, /The webhook endpoint is disabled/, false],
    ],
    [
      'retry_limit_reached',
      ({ deliveryId }: Timeline) => setUses(auth.database, 'retries', deliveryId, 10),
      ...[429, /Limit: 10 manual retries per hour per delivery. Try again in 3\d\d\d s/, true],
    ],
  ] as const)('shows the event again and why the retry was refused: %s', async (_, arrange, status, detail, waits) => {
    const { clientId, browser } = await visitor();
    const timeline = await makeTimeline(auth.database, clientId);
    await arrange(timeline);
    const refused = await browser.post(`/console/events/${timeline.eventId}/retry`, { delivery: timeline.deliveryId });
    expect(refused.status).toBe(status);
    expect(refused.headers.get('retry-after')).toEqual(waits ? expect.stringMatching(/^3\d\d\d$/) : null);
    expect(refused.text).toMatch(detail);
    expect(refused.text).toContain('The receiver responded with 503.');
    // The script asks the page again, not the form.
    expect(refused.text).toContain(`data-live="/console/events/${timeline.eventId}"`);
  });
});
