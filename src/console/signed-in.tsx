import type { ConsoleSession } from '../auth/console-sessions.js';
import type { AppContext } from '../http/state.js';
import { isLive, sessionOf } from './guard.js';
import { PageError } from './page-error.js';
import { sendDocument } from './render.js';
import type { Services } from './services.js';
import { redirect } from './show.js';

/**
 * The session of a request that needs one. Without one, sends the person to the sign-in and returns undefined.
 * @throws PageError 401 on a live update: the script then loads the page again
 */
export function signedIn(ctx: AppContext, services: Services): ConsoleSession | undefined {
  const session = sessionOf(ctx);
  if (session) return session;
  if (isLive(ctx)) throw new PageError(401, 'Signed out', 'The session has ended; sign in again.');
  const cookieSent = ctx.get('Cookie').includes(`${services.cookie.name}=`);
  if (ctx.method === 'GET' && !cookieSent && ctx.get('Sec-Fetch-Site') === 'cross-site') {
    loadAgain(ctx, services);
    return undefined;
  }
  const query = new URLSearchParams();
  if (ctx.method === 'GET' && ctx.path !== '/console') query.set('next', `${ctx.path}${ctx.search}`);
  if (cookieSent) query.set('state', 'ended');
  redirect(ctx, services, `/console/sign-in${query.size > 0 ? `?${query}` : ''}`);
  return undefined;
}

/**
 * A browser that follows a link from another site, such as a chat, withholds a `SameSite=Strict` cookie. It sends the
 * cookie when a page of this site loads the address again.
 */
function loadAgain(ctx: AppContext, { prefix }: Services): void {
  // Not `ctx.url`: the target of a request may be a whole URL, of any host (RFC 9112 §3.2.2).
  const address = `${prefix}${ctx.path}${ctx.search}`;
  sendDocument(
    ctx,
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>Transfer Service</title>
        <meta http-equiv="refresh" content={`0; url=${address}`} />
      </head>
      <body>
        <a href={address}>Continue to the console</a>
      </body>
    </html>,
  );
}
