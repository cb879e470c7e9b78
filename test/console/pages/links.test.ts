import { expect, test } from '@jest/globals';
import { openAuthApi } from '../../support/auth-api.js';
import { signedInBrowser } from '../../support/console.js';
import { type DeliveryData, makeTimeline } from '../../support/console-data.js';
import { ENDPOINT_SECRET, makeEndpoint, masterKeys } from '../../support/factories.js';

const auth = await openAuthApi({ dependencies: { masterKeys } });

const OUTCOMES: readonly DeliveryData[] = [
  { status: 'succeeded', outcomes: [204] },
  { status: 'pending', outcomes: [401] },
  { status: 'failed', reason: 'exhausted' },
  { status: 'cancelled', reason: 'endpoint_disabled' },
];

// The list of failed deliveries linked to a form.
test.each(['editor', 'viewer'])(
  'every link that an %s finds leads to a page, which shows no secret and a viewer no form',
  async (role) => {
    const credentials = await auth.client();
    const browser = await signedInBrowser(auth, credentials, role === 'viewer' ? { role } : {});
    for (const data of OUTCOMES) await makeTimeline(auth.database, credentials.client_id, data);
    await makeEndpoint(auth.database, credentials.client_id, { enabled: false });
    const seen = new Set(['/console']);
    // The set grows while it is walked.
    for (const path of seen) {
      const { status, text } = await browser.get(path);
      expect([path, status]).toEqual([path, 200]);
      for (const secret of [ENDPOINT_SECRET, credentials.client_secret]) expect(text).not.toContain(secret);
      if (role === 'viewer') {
        const forms = [...text.matchAll(/<form[^>]* method="post"[^>]*>/g)].map(([form]) => form);
        expect([path, forms]).toEqual([path, [expect.stringContaining('action="/console/sign-out"')]]);
      }
      for (const [, href = ''] of text.matchAll(/href="(\/console[^"#]*)/g)) {
        // The transfers of these events were never made.
        if (!/^\/console\/(assets|transfers\/\d)/.test(href)) seen.add(href.replaceAll('&amp;', '&'));
      }
    }
    expect(seen.size).toBeGreaterThan(role === 'viewer' ? 30 : 40);
  },
);
