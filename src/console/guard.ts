import { type ConsoleSession, type SessionUse, useSession } from '../auth/console-sessions.js';
import type { AppContext, AppMiddleware } from '../http/state.js';
import { ASSETS_PATH } from './assets.js';
import { PageError } from './page-error.js';
import type { Services } from './services.js';

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

/** Checks where a form comes from, before anything else of the request, and finds the session of the cookie. */
export function guard({ cookie, origin, database }: Services): AppMiddleware {
  return async (ctx, next) => {
    if (!isConsolePath(ctx.path) || ctx.path.startsWith(ASSETS_PATH)) return next();
    if (!['GET', 'HEAD', 'OPTIONS'].includes(ctx.method)) requireOrigin(ctx.req.headersDistinct.origin, origin);
    const token = cookie.read(ctx.get('Cookie'));
    if (token) {
      const { address } = ctx.state;
      const session = await useSession(database, token, { address, use: useOf(ctx) });
      if (session) {
        sessions.set(ctx, session);
        const { clientId, secretId, scopes } = session;
        ctx.state.caller = { clientId, secretId, scopes };
      } else ctx.append('Set-Cookie', cookie.clear());
    }
    return next();
  };
}

/** A page of another origin can send a form too, with the cookie of an older browser: its `Origin` gives it away. */
function requireOrigin(sent: readonly string[] | undefined, origin: string): void {
  if (sent?.length === 1 && sent[0] === origin) return;
  throw new PageError(403, 'Foreign origin', `Send forms from the console's own pages, at ${origin}.`);
}

function useOf(ctx: AppContext): SessionUse {
  if (isLive(ctx)) return 'live';
  return ctx.method === 'GET' ? 'page' : 'form';
}
