import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { disableEndpoint } from '../../../src/endpoints/disable.js';
import { accessibilityViolations, describeInBrowser, overflows, signIn } from '../../support/browser.js';
import { type ConsoleService, startConsoleService } from '../../support/console-service.js';

describeInBrowser('notifications, in a browser', () => {
  let console: ConsoleService;
  beforeAll(async () => {
    console = await startConsoleService();
  });
  afterAll(() => console?.close());

  test.each(['light', 'dark'] as const)(
    'the bell and its page are readable on a narrow screen, %s',
    async (colorScheme) => {
      const { credentials, call } = await console.client();
      const url = 'https://hooks.example.com/in';
      const { body } = await call('POST', '/webhook-endpoints', {
        url,
        secret: 'a secret of sixteen',
        description: 'Orders',
      });
      await console.database.transaction((tx) => disableEndpoint(tx, body.webhookId, 'gone'));
      const visitor = await console.visitor({ colorScheme, viewport: { width: 360, height: 640 } });
      const { page } = visitor;
      await signIn(visitor, credentials);
      await page.getByRole('link', { name: 'Notifications 1 new' }).click();
      await page.getByText('Disabled (gone)').waitFor();
      expect(await overflows(page)).toBe(false);
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(visitor.complaints).toEqual([]);
      await visitor.close();
    },
  );
});
