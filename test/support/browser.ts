import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** Where Debian and others install the browser; CHROMIUM names another place. */
const PROGRAM = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
);

/**
 * `describe` for tests that need a browser. Where chromium is missing, the tests are skipped and their title says so.
 */
export function describeInBrowser(title: string, tests: () => void): void {
  if (PROGRAM !== undefined) describe(title, tests);
  else describe.skip(`${title} (skipped: chromium is missing; apt-get install chromium)`, tests);
}

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(PROGRAM !== undefined && { executablePath: PROGRAM }),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-dev-shm-usage'],
  });
}

/** A person with a browser window of their own: cookies are not shared with others. */
export interface Visitor {
  page: Page;
  /**
   * Errors of the console, violations of the Content-Security-Policy, uncaught errors of scripts, and requests to other
   * origins. A page that the service refused to show (4xx) is no complaint.
   */
  complaints: string[];
  close(): Promise<void>;
}

export async function openVisitor(
  browser: Browser,
  baseUrl: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    baseURL: baseUrl,
    viewport: { width: 1280, height: 900 },
    // A page that waits longer than this has hung; the machines are shared.
    ...options,
  });
  context.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  // A script that catches the error of its `eval` leaves nothing on the console.
  await context.exposeFunction('complain', (text: string) => complaints.push(text));
  await context.addInitScript(`addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
    complain('policy: ' + effectiveDirective + ' ' + blockedURI))`);
  const page = await context.newPage();
  const refused = new Set<string>();
  page.on('response', (response) => {
    if (response.status() >= 400 && response.status() < 500) refused.add(response.url());
  });
  page.on('console', (message) => {
    const isRefusal = message.text().startsWith('Failed to load resource') && refused.has(message.location().url);
    if (['error', 'warning'].includes(message.type()) && !isRefusal) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(baseUrl).origin && protocol !== 'data:' && protocol !== 'blob:')
      complaints.push(`request to ${request.url()}`);
  });
  return { page, complaints, close: () => context.close() };
}

/** Signs in with the client's credentials, by the form. */
export async function signIn(
  { page }: Pick<Visitor, 'page'>,
  { client_id, client_secret }: { client_id: string; client_secret: string },
  { viewer = false } = {},
): Promise<void> {
  await page.goto('/console/sign-in');
  await page.getByLabel('Client id').fill(client_id);
  await page.getByLabel('Client secret').fill(client_secret);
  if (viewer) await page.getByLabel(/View only/).check();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => !url.pathname.startsWith('/console/sign-in'));
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/**
 * The violations of WCAG 2.2 A and AA on the page as it is, in the light and in the dark theme: the theme, the rule,
 * and each element.
 */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(AXE);
    const { violations } = await page.evaluate<AxeResults>(
      `axe.run(document, { runOnly: ${JSON.stringify(LEVELS)}, resultTypes: ['violations'] })`,
    );
    for (const { id, nodes } of violations) {
      found.push(...nodes.map(({ html, failureSummary }) => `${colorScheme} ${id}: ${html} ${failureSummary ?? ''}`));
    }
  }
  await page.emulateMedia({ colorScheme: null });
  return found;
}

/** Whether the page is wider than the window, so a reader must scroll sideways. */
export function overflows(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}
