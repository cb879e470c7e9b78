import type { Config } from '../config.js';
import type { Shared } from '../http/extension.js';
import type { Page } from './page.js';
import { type SessionCookie, sessionCookie } from './session-cookie.js';

/** What the parts of the console share. */
export interface Services extends Shared {
  cookie: SessionCookie;
  /** The origin of BASE_URL, which every form names in `Origin`. */
  origin: string;
  /** The path of BASE_URL, which a proxy strips; empty if it has none. */
  prefix: string;
  /** The pages with an entry in the navigation, in order. */
  navigation: readonly Page[];
}

export function servicesOf(shared: Shared, navigation: readonly Page[]): Services {
  const { baseUrl }: Pick<Config, 'baseUrl'> = shared.config;
  const { origin, pathname } = new URL(baseUrl);
  return { ...shared, cookie: sessionCookie(baseUrl), origin, prefix: pathname.replace(/\/$/, ''), navigation };
}
