import { LRUCache } from 'lru-cache';
import { hashSecret } from '../auth/clients.js';
import { type ConsoleSession, type SessionUse, useSession } from '../auth/console-sessions.js';
import type { Shared } from '../http/app.js';
import type { AppContext, AppMiddleware } from '../http/context.js';
import { limitParameters } from '../http/validation-errors.js';
import { hostNetwork } from '../platform/networks.js';
import { Secret } from '../platform/secret.js';
import { PageError } from './page.js';

/** What the parts of the console share. */
export type Services = ReturnType<typeof servicesOf>;

export function servicesOf(shared: Shared) {
  const { baseUrl } = shared.config;
  const { origin, pathname } = new URL(baseUrl);
  return {
    ...shared,
    cookie: sessionCookie(baseUrl),
    /** The origin of BASE_URL. */
    origin,
    /** The path of BASE_URL, which a proxy strips; empty if it has none. */
    prefix: pathname.replace(/\/$/, ''),
  };
}

/** The path under which the files of `assets/` are served. */
export const ASSETS_PATH = '/console/assets/';

const sessions = new WeakMap<object, ConsoleSession>();

/** The live session of a request; undefined: nobody is signed in. */
export function sessionOf(ctx: object): ConsoleSession | undefined {
  return sessions.get(ctx);
}

export function isConsolePath(path: string): boolean {
  return path === '/console' || path.startsWith('/console/');
}

/** Whether the request fetches a part of a page again, without a person who acts. */
export function isLive(ctx: Pick<AppContext, 'get'>): boolean {
  return ctx.get('X-Live') !== '';
}

/** Cookies whose rate key a process remembers. */
const MAX_COOKIES = 10_000;

/**
 * Counts a request before any work: by the client of its cookie, or else by its address. Then checks where a form comes
 * from and the size of the query, and finds the session of the cookie.
 * @param pointsOf the points of a request; undefined: no page has its path
 */
export function guard(services: Services, pointsOf: (ctx: AppContext) => number | undefined): AppMiddleware {
  const { cookie, origin, database, rateLimit } = services;
  /** The rate key of a cookie, by its hash. It decides for whom a request counts, never whether the session is live. */
  const keys = new LRUCache<string, { key: string; perSecond: number | null }>({ max: MAX_COOKIES });

  return async (ctx, next) => {
    if (!isConsolePath(ctx.path)) return next();
    const byAddress = hostNetwork(ctx.state.address);
    if (ctx.path.startsWith(ASSETS_PATH)) return rateLimit(ctx, { key: byAddress, points: 1 }, next);
    const foreign = isForeign(ctx, origin);
    const token = foreign ? undefined : cookie.read(ctx.get('Cookie'));
    const hash = token && hashSecret(token).toString('base64url');
    const known = hash === undefined ? undefined : keys.get(hash);
    const declared = pointsOf(ctx);
    const points = declared ?? 1;
    return rateLimit(ctx, { ...(known ?? { key: byAddress }), points }, async () => {
      if (foreign) {
        throw new PageError(403, 'Foreign origin', `Send forms from the console's own pages, at ${origin}.`);
      }
      limitParameters(ctx.querystring);
      if (!token || hash === undefined) return next();
      const { address } = ctx.state;
      const session = await useSession(database, token, { address, use: declared === undefined ? 'live' : useOf(ctx) });
      if (!session) {
        ctx.append('Set-Cookie', cookie.clear());
        keys.delete(hash);
        return next();
      }
      sessions.set(ctx, session);
      const { clientId, secretId, scopes } = session;
      ctx.state.caller = { clientId, secretId, scopes };
      const counted = countedFor(session);
      keys.set(hash, counted);
      return known === undefined ? rateLimit(ctx, { ...counted, points }, next) : next();
    });
  };
}

/** The operator who opened the console by a link counts apart, so that a busy client does not keep the operator out. */
function countedFor({ clientId, signedInBy, rateLimit }: ConsoleSession): { key: string; perSecond: number | null } {
  return signedInBy === 'operator-link'
    ? { key: `operator for ${clientId}`, perSecond: null }
    : { key: clientId, perSecond: rateLimit };
}

/**
 * A page of another origin can send a form too, with the cookie of an older browser. `Sec-Fetch-Site`, which no page
 * can set, exposes it. Browsers send it to https: and to localhost; elsewhere `Origin` decides. A proxy's
 * `Referrer-Policy: no-referrer` makes the `Origin` of the console's own forms null.
 */
function isForeign(ctx: AppContext, origin: string): boolean {
  if (['GET', 'HEAD', 'OPTIONS'].includes(ctx.method)) return false;
  const { 'sec-fetch-site': site, origin: sent } = ctx.req.headersDistinct;
  return site ? site.join() !== 'same-origin' : sent?.join() !== origin;
}

function useOf(ctx: AppContext): SessionUse {
  if (isLive(ctx)) return 'live';
  return ctx.method === 'GET' ? 'page' : 'form';
}

/**
 * The cookie that carries a session. Over https the name begins with `__Host-`, so that no other host can set the
 * cookie; browsers then require the path `/`, and no path outside of `/console` reads it. Cookies do not separate
 * ports: over http, as on localhost, the name contains the port, so that two services do not overwrite each other's
 * cookie.
 */
export function sessionCookie(baseUrl: string) {
  const { protocol, port, pathname } = new URL(baseUrl);
  const secure = protocol === 'https:';
  const name = secure ? '__Host-console_session' : `console_session_${port || 80}`;
  const attributes = `; HttpOnly; SameSite=Strict; ${
    secure ? 'Path=/; Secure' : `Path=${pathname.replace(/\/$/, '')}/console`
  }`;
  return {
    name,
    /** The cookie's value in a `Cookie` header; undefined where it is absent, repeated or malformed. */
    read(header: string): Secret | undefined {
      const values = header
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
        .map((pair) => pair.slice(name.length + 1));
      const [value] = values;
      return values.length === 1 && value && /^[\w-]{43}$/.test(value) ? new Secret(value) : undefined;
    },
    /** The `Set-Cookie` header that sets the session. It ends with the browser; the server ends it earlier. */
    set: (token: Secret) => `${name}=${token.reveal()}${attributes}`,
    /** The `Set-Cookie` header that removes the session. */
    clear: () => `${name}=${attributes}; Max-Age=0`,
  };
}
