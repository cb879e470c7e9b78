import { LRUCache } from 'lru-cache';
import { hashSecret } from '../auth/clients.js';
import { type ConsoleSession, type SessionUse, useSession } from '../auth/console-sessions.js';
import type { AppContext, AppMiddleware } from '../http/context.js';
import { limitParameters } from '../http/validation-errors.js';
import { hostNetwork } from '../platform/networks.js';
import { PageError } from './page.js';
import type { Services } from './services.js';

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
  const keys = new LRUCache<string, string>({ max: MAX_COOKIES });

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
    return rateLimit(ctx, { key: known ?? byAddress, points }, async () => {
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
      if (known !== undefined) return next();
      const key = rateKeyOf(session);
      keys.set(hash, key);
      return rateLimit(ctx, { key, points }, next);
    });
  };
}

/** The operator who opened the console by a link counts apart, so that a busy client does not keep the operator out. */
function rateKeyOf({ clientId, signedInBy }: ConsoleSession): string {
  return signedInBy === 'operator-link' ? `operator for ${clientId}` : clientId;
}

/** A page of another origin can send a form too, with the cookie of an older browser: its `Origin` gives it away. */
function isForeign(ctx: AppContext, origin: string): boolean {
  if (['GET', 'HEAD', 'OPTIONS'].includes(ctx.method)) return false;
  const sent = ctx.req.headersDistinct.origin;
  return sent?.length !== 1 || sent[0] !== origin;
}

function useOf(ctx: AppContext): SessionUse {
  if (isLive(ctx)) return 'live';
  return ctx.method === 'GET' ? 'page' : 'form';
}
