import type { Browser, BrowserContextOptions } from 'playwright-core';
import { openVisitor, startBrowser, type Visitor } from './browser.js';
import { openService, type Service } from './service.js';

/** A service and a browser. */
export interface ConsoleService extends Service {
  baseUrl: string;
  browser: Browser;
  visitor(options?: BrowserContextOptions): Promise<Visitor>;
}

/** @param settings further settings of the service, such as `DELIVERY_RETRY_DELAYS` */
export async function startConsoleService(settings: Record<string, string> = {}): Promise<ConsoleService> {
  const [service, browser] = await Promise.all([openService({ settings }), startBrowser()]);
  const baseUrl = service.at.base_url;
  return {
    ...{ ...service, baseUrl, browser },
    visitor: (options) => openVisitor(browser, baseUrl, options),
    async close() {
      await browser.close();
      await service.close();
    },
  };
}
