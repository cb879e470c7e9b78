import { CLIENT_SCOPES } from '../auth/caller.js';
import { type ConsoleSession, isOperator, leaveNotice } from '../auth/console-sessions.js';
import { countUnseen } from '../endpoints/notifications.js';
import { MAX_BODY_BYTES, readBytes, textOf } from '../http/body.js';
import type { AppContext, AppMiddleware } from '../http/context.js';
import { readParams } from '../http/dispatch.js';
import { routeOf } from '../http/middleware.js';
import { problemResponse, refusalOf } from '../http/response.js';
import { limitParameters } from '../http/validation-errors.js';
import { withDeadline } from '../platform/deadline.js';
import { PROBLEMS, Refusal } from '../platform/refusal.js';
import { ErrorSummary, Refused } from './components/parts.js';
import { Now } from './components/values.js';
import { isConsolePath, isLive, type Services, sessionOf } from './guard.js';
import { CONSOLE_HEADERS, MOST_UNSEEN, redirect, show } from './layout.js';
import { lacksScope, operationsOf, readLimited } from './operations.js';
import { type Form, type Page, PageError, type RefusedForm, SECRET_FIELDS, type Visit } from './page.js';

type RoutedContext = AppContext & { params: Record<string, string> };

/** Runs a page for the session of the request. A query that is refused is shown at the page without one. */
export async function runPage(ctx: RoutedContext, services: Services, page: Page): Promise<void> {
  const visit = visitOf(ctx, services, page);
  if (!visit) return;
  try {
    await showPage(ctx, services, page, visit);
  } catch (error) {
    if (!(error instanceof Refusal) || visit.query.size === 0 || SHOWN_ALONE.has(error.code)) throw error;
    await showRefused(ctx, services, page, visit, { refusal: error, fields: visit.query });
  }
}

/** Runs a form for the session of the request. A refused form is shown again on its page, with the API's status. */
export async function runForm(ctx: RoutedContext, services: Services, form: Form): Promise<void> {
  const visit = visitOf(ctx, services, form);
  if (!visit) return;
  const fields = await readForm(ctx);
  try {
    const { location, notice } = await form.submit(visit, fields);
    if (notice !== undefined) await leaveNotice(services.database, visit.session, notice);
    redirect(ctx, services, location);
  } catch (error) {
    if (!(error instanceof Refusal) || !form.page || !permits(visit.session, form.page)) throw error;
    for (const name of SECRET_FIELDS) fields.delete(name);
    await showRefused(ctx, services, form.page, visit, { refusal: error, fields });
  }
}

/** Errors that are shown alone: reading the page without its query would fail too. */
const SHOWN_ALONE: ReadonlySet<Refusal['code']> = new Set(['not_found', 'unavailable']);

async function showRefused(ctx: AppContext, services: Services, page: Page, visit: Visit, refused: RefusedForm) {
  const { status, headers } = shownError(refused.refusal);
  ctx.set({ ...headers });
  await showPage(ctx, services, page, { ...visit, query: new URLSearchParams(), refused }, status);
}

async function showPage(ctx: AppContext, services: Services, page: Page, visit: Visit, status = 200): Promise<void> {
  const view = await page.view(visit);
  if (typeof view === 'object' && view !== null && 'location' in view) return redirect(ctx, services, view.location);
  const content = (
    <Now.Provider value={new Date(visit.session.now)}>
      <Refused.Provider value={visit.refused}>
        {visit.refused && <ErrorSummary refused={visit.refused} />}
        {view}
      </Refused.Provider>
    </Now.Provider>
  );
  const { session, read } = visit;
  const unseen = session.scopes.has('webhooks:read')
    ? await read((db) => countUnseen(db, session.clientId, MOST_UNSEEN + 1))
    : 0;
  show(ctx, services, { ...page, content, status, unseen });
}

/** The request of a session with the scope of the page or form; undefined: it was sent to the sign-in. */
function visitOf(ctx: RoutedContext, services: Services, declared: Pick<Page, 'scope'>): Visit | undefined {
  const session = signedIn(ctx, services);
  if (!session) return undefined;
  if (!permits(session, declared)) {
    if (isOperator(session) && ctx.method === 'GET' && ctx.path === '/console') {
      redirect(ctx, services, '/console/operator');
      return undefined;
    }
    throw lacksScope(declared.scope === null ? CLIENT_SCOPES : [declared.scope]);
  }
  const database = services.database.forClient(session.clientId);
  return {
    session,
    operations: operationsOf(services.routes, database, session),
    params: readParams(ctx.params ?? {}),
    query: new URLSearchParams(ctx.querystring),
    config: services.config,
    read: (work) => readLimited(database, work),
    db: database,
  };
}

/** A page without a scope is for every session of a client's people. */
const permits = (session: ConsoleSession, { scope }: Pick<Page, 'scope'>) =>
  scope === null ? !isOperator(session) : session.scopes.has(scope);

/**
 * The session of a request that needs one. Without one, sends the person to the sign-in and returns undefined.
 * @throws PageError 401 on a live update: the script then loads the page again
 */
function signedIn(ctx: AppContext, services: Services): ConsoleSession | undefined {
  const session = sessionOf(ctx);
  if (session) return session;
  if (isLive(ctx)) throw new PageError(401, 'Signed out', 'The session has ended; sign in again.');
  const isPage = ctx.method === 'GET';
  const cookieSent = ctx.get('Cookie').includes(`${services.cookie.name}=`);
  if (isPage && !cookieSent && ctx.get('Sec-Fetch-Site') === 'cross-site') {
    // A browser that follows a link from another site, such as a chat, withholds a `SameSite=Strict` cookie. It sends
    // the cookie when a page of this site loads the address again.
    ctx.set('Refresh', '0');
    show(ctx, services, { title: 'Transfer Service', content: <a href={`${ctx.path}${ctx.search}`}>Continue</a> });
    return undefined;
  }
  // Not `ctx.url`: the target of a request may be a whole URL, of any host (RFC 9112 §3.2.2).
  const query = new URLSearchParams({
    ...(isPage && ctx.path !== '/console' && { next: `${ctx.path}${ctx.search}` }),
    // A browser that blocks cookies comes back from the sign-in without one.
    ...(isPage && !cookieSent && /\/console\/sign-in\b/.test(ctx.get('Referer')) && { cookie: 'missing' }),
  });
  redirect(ctx, services, `/console/sign-in${query.size > 0 ? `?${query}` : ''}`);
  return undefined;
}

/**
 * The fields of a form, `application/x-www-form-urlencoded` in UTF-8.
 * @param limit in bytes
 * @throws PageError 400 | 415; Refusal payload_too_large | unsupported_media_type | too_many_parameters |
 * malformed_request (cut off)
 */
export async function readForm(ctx: AppContext, limit = MAX_BODY_BYTES): Promise<URLSearchParams> {
  const type = ctx.get('Content-Type').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new PageError(415, 'Unsupported media type', 'Send the form as application/x-www-form-urlencoded.');
  }
  const text = textOf(await readBytes(ctx, limit));
  if (text === undefined) throw new PageError(400, 'Malformed request', 'The form is not valid UTF-8.');
  limitParameters(text, 'form');
  return new URLSearchParams(text);
}

/** An error as a page shows it, without details of a fault. */
export function shownError(error: unknown) {
  if (error instanceof PageError) {
    return { status: error.status, title: error.title, detail: error.message, headers: {} };
  }
  const refusal = refusalOf(error);
  const { status, title } = PROBLEMS[refusal.code];
  const { headers } = problemResponse(refusal, { baseUrl: '', path: '', requestId: '' });
  const { 'Content-Type': _type, 'WWW-Authenticate': _challenge, ...kept } = headers;
  // The API's message names a header, which no person sends.
  const detail =
    refusal.code === 'unavailable'
      ? 'The service cannot do this at the moment. Try again. If you sent a form, first look whether it took effect.'
      : refusal.message;
  return { status, title, detail, headers: kept };
}

/** Time after which a page offers to try again, ms. It is longer than a read of a page (`READ_LIMIT`). */
const PAGE_DEADLINE = 4_500;

/**
 * Sets the headers of every response under `/console`, shows errors as pages, and logs faults with the request's id as
 * the API does.
 */
export function errorPages(services: Services): AppMiddleware {
  return async (ctx, next) => {
    if (!isConsolePath(ctx.path)) return next();
    ctx.set(CONSOLE_HEADERS);
    try {
      await (ctx.method === 'GET' ? withDeadline(PAGE_DEADLINE, next) : next());
    } catch (thrown) {
      const { requestId } = ctx.state;
      if (!(thrown instanceof Refusal || thrown instanceof PageError)) {
        const { code } = refusalOf(thrown);
        services.log[PROBLEMS[code].status === 503 ? 'warn' : 'error']({ err: thrown, request_id: requestId }, code);
      }
      const own = shownError(thrown);
      const error = own.status === 404 && routeOf(ctx) === undefined ? NO_PAGE : own;
      ctx.set({ ...error.headers });
      const content = (
        <section class="stack narrow">
          <p class="muted">{error.status}</p>
          <h1>{error.title}</h1>
          <p>{error.detail}</p>
          <p class="hint">
            Request <code>{requestId}</code>
          </p>
          {ctx.method === 'GET' && (error.status === 503 || error.status === 429) && (
            <p>
              <a class="button" href={`${ctx.path}${ctx.search}`}>
                Try again
              </a>
            </p>
          )}
          <p>
            <a href="/console">Go to the overview</a>
          </p>
        </section>
      );
      show(ctx, services, { title: error.title, content, status: error.status });
    }
  };
}

const NO_PAGE = shownError(new PageError(404, 'Not found', 'The console has no such page.'));
