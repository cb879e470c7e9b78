import { makeOperatorLink } from '../../src/auth/console-sessions.js';
import type { AuthApi, Credentials } from './auth-api.js';

/** The session of a browser, without a browser: it sends its cookie and the `Origin` of the console's own pages. */
export interface ConsoleBrowser {
  get(path: string, headers?: Record<string, string>): Promise<ConsoleReply>;
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<ConsoleReply>;
  /** The `Cookie` header; undefined: nobody is signed in. */
  cookie: string | undefined;
}

import { OPERATOR } from './factories.js';

export interface ConsoleReply {
  status: number;
  headers: Headers;
  text: string;
}

/** @param at the address of the API process, and BASE_URL */
export function consoleBrowser(at: { url: string; baseUrl: string }): ConsoleBrowser {
  const { origin } = new URL(at.baseUrl);
  const browser: ConsoleBrowser = {
    cookie: undefined,
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, fields = {}, headers = {}) =>
      send(path, {
        method: 'POST',
        headers: { Origin: origin, 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams(fields).toString(),
      }),
  };
  const send = async (path: string, init: RequestInit & { headers: Record<string, string> }) => {
    const cookie = browser.cookie === undefined ? {} : { Cookie: browser.cookie };
    const headers = { ...cookie, ...init.headers };
    const response = await fetch(`${at.url}${path}`, { ...init, headers, redirect: 'manual' });
    const [set] = response.headers.getSetCookie();
    if (set !== undefined) browser.cookie = /Max-Age=0/.test(set) ? undefined : set.split(';')[0];
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return browser;
}

/** Signs a new browser in with the client's credentials. */
export async function signedInBrowser(
  auth: Pick<AuthApi, 'api' | 'baseUrl'>,
  credentials: Credentials,
  fields: Record<string, string> = {},
): Promise<ConsoleBrowser> {
  const browser = consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
  const { status, text } = await browser.post('/console/sign-in', { ...credentials, ...fields });
  if (status !== 303) throw new Error(`the sign-in got ${status}: ${text}`);
  return browser;
}

/** Opens the client's console in a new browser by an operator's link. */
export async function operatorBrowser(
  auth: Pick<AuthApi, 'api' | 'baseUrl' | 'database'>,
  clientId: string,
  headers: Record<string, string> = {},
): Promise<ConsoleBrowser> {
  const browser = consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
  const { url } = await makeOperatorLink(auth.database, OPERATOR, auth.baseUrl, clientId, 'viewer');
  const { pathname, hash } = new URL(url);
  const { status, text } = await browser.post(pathname, { code: hash.slice(1) }, headers);
  if (status !== 303) throw new Error(`the operator's link got ${status}: ${text}`);
  return browser;
}
