import { render } from 'preact-render-to-string';
import { Now } from '../../../src/console/components/values.js';
import type { Visit } from '../../../src/console/page.js';
import type { Delivery } from '../../../src/console/pages/deliveries.js';
import { Overview } from '../../../src/console/pages/overview.js';
import type { EndpointHealth } from '../../../src/endpoints/health.js';
import { newId } from '../../../src/platform/ids.js';
import { broken, endpoint, health, NOW } from './endpoints/make.js';

/** The request of an editor, or of a viewer. */
function visit(editor: boolean, environment: string) {
  const scopes = new Set(editor ? ['transfers:write', 'webhooks:write'] : []);
  return { session: { scopes }, config: { environment }, query: new URLSearchParams() } as unknown as Visit;
}

const textOf = (html: string) =>
  html
    .replace(/<title>.*?<\/title>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/ ([.;,])/g, '$1');

function overview(
  endpoints = [endpoint()],
  own: EndpointHealth = health(),
  editor = true,
  recent: Delivery[] = [],
  environment = 'sandbox',
): string {
  const all = new Map(endpoints.map(({ webhookId }) => [webhookId, own]));
  return render(
    <Now.Provider value={new Date(NOW)}>
      <Overview
        visit={visit(editor, environment)}
        endpoints={endpoints}
        health={all}
        recent={recent}
        transfers={new Map()}
        steps={[]}
      />
      ,
    </Now.Provider>,
  );
}

describe('the overview', () => {
  it('shows the health of an endpoint that works, in one row', () => {
    const text = textOf(overview());
    expect(text).toContain('Endpoints that need your attention: 0 of 1');
    expect(text).toContain('Endpoint State 24 hours Success rate p95 Pending Last success');
    expect(text).toMatch(/enabled 100 % of 24 1\.3 s 0 2 min ago/);
  });

  it('says why an endpoint fails, what is pending, and until when', () => {
    const text = textOf(overview(undefined, broken()));
    expect(text).toContain('Endpoints that need your attention: 1 of 1');
    expect(text).toMatch(/: The receiver responded with 503 First failure: 60 s ago\. Latest failure: 60 s ago\./);
    expect(text).toContain('Pending deliveries: 2 next in 4 min');
  });

  it.each([
    ['owner', 'Disabled by you'],
    ['gone', 'responded with 410 Gone'],
    ['failing', 'it kept failing'],
  ] as const)('offers to enable an endpoint that is disabled: %s', (disabled_reason, title) => {
    const html = overview([endpoint({ enabled: false, disabled_reason })]);
    expect(textOf(html)).toContain(title);
    expect(html).toContain('action="/console/endpoints/019abe01-7a10-7c44-9d02-3f1f6f0c8a11/enable"');
  });

  it('says that only the operator can enable an endpoint that the operator disabled, and has no button for it', () => {
    const html = overview([endpoint({ enabled: false, disabled_reason: 'operator' })]);
    expect(textOf(html)).toContain('Only the operator can enable it');
    expect(html).not.toContain('<form');
  });

  it('lists what failed and what is pending', () => {
    expect(textOf(overview())).not.toContain('Failed and pending');
    const made = (status: 'failed' | 'pending', last_attempt: object | null) =>
      ({
        ...{ id: newId(), event_id: newId(), webhookId: endpoint().webhookId, status, last_attempt },
        next_attempt_at: status === 'pending' ? new Date(NOW.getTime() + 300_000).toISOString() : null,
        ...{ transfer_id: newId(), transfer_status: 'SENT' },
      }) as unknown as Delivery;
    const failed = made('failed', { number: 7, error: 'status', response_status: 503 });
    const text = textOf(overview(undefined, undefined, true, [failed, made('pending', null)]));
    expect(text).toMatch(/failed 503 attempt 7/);
    expect(text).toMatch(/pending next in 5 min/);
  });

  it('shows names of clients as text, with direction controls made visible, and never as links', () => {
    const url = 'https://example.com/"><script>alert(1)</script>';
    const html = overview([endpoint({ description: '\u202e<img src=x onerror=alert(1)>', url })]);
    expect(html).not.toMatch(/<script|<img|href="https:/);
    expect(html).toContain('U+202E');
  });

  it('leads a newcomer to register an endpoint, and in the sandbox to make a transfer', () => {
    const html = overview([]);
    expect(html).toContain('href="/console/endpoints/new"');
    expect(html).toContain('href="/console/transfers/new?outcome=SANDBOX-COMPLETE"');
    expect(overview([], undefined, true, [], 'production')).not.toContain('andbox');
    expect(overview([], undefined, false)).not.toContain('href=');
  });
});
