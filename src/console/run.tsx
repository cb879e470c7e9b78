import type { ConsoleSession } from '../auth/console-sessions.js';
import { leaveNotice } from '../auth/console-sessions.js';
import { readParams } from '../http/dispatch.js';
import type { AppContext } from '../http/state.js';
import { Refusal } from '../refusal.js';
import { ErrorSummary } from './components/error-summary.js';
import { shownError } from './errors.js';
import { lacksScope, operationsOf, readLimited } from './operations.js';
import { type Form, isSeeOther, type Page, type RefusedForm, RefusedView, SECRET_FIELDS, type Visit } from './page.js';
import { readForm } from './read-form.js';
import type { Services } from './services.js';
import { redirect, show } from './show.js';
import { signedIn } from './signed-in.js';

type RoutedContext = AppContext & { params: Record<string, string> };

/** Runs a page for the session of the request. */
export async function runPage(ctx: RoutedContext, services: Services, page: Page): Promise<void> {
  const session = signedIn(ctx, services);
  if (!session) return;
  if (!permits(session, page) && page.path === '/console') {
    const first = services.navigation.find((other) => permits(session, other));
    if (first) return redirect(ctx, services, first.path);
  }
  requireScope(session, page);
  await showPage(ctx, services, page, visitOf(ctx, services, session));
}

/** Runs a form for the session of the request. A refused form is shown again on its page, with the API's status. */
export async function runForm(ctx: RoutedContext, services: Services, form: Form): Promise<void> {
  const session = signedIn(ctx, services);
  if (!session) return;
  requireScope(session, form);
  const visit = visitOf(ctx, services, session);
  const fields = await readForm(ctx);
  try {
    const { location, notice } = await form.submit(visit, fields);
    if (notice !== undefined) await leaveNotice(services.database, session, notice);
    redirect(ctx, services, location);
  } catch (error) {
    if (!(error instanceof Refusal) || !form.page || !permits(session, form.page)) throw error;
    const { status, headers } = shownError(error);
    const refused: RefusedForm = { path: ctx.path, refusal: error, fields: withoutSecrets(fields) };
    ctx.set({ ...headers });
    await showPage(ctx, services, form.page, { ...visit, query: new URLSearchParams(), refused }, status);
  }
}

async function showPage(ctx: AppContext, services: Services, page: Page, visit: Visit, status = 200): Promise<void> {
  const view = await page.view(visit);
  if (isSeeOther(view)) return redirect(ctx, services, view.location);
  const refused = view instanceof RefusedView ? view : undefined;
  const answer = refused ? shownError(refused.refusal) : { status, headers: {} };
  ctx.set({ ...answer.headers });
  const content = (
    <>
      {visit.refused && <ErrorSummary refused={visit.refused} />}
      {view instanceof RefusedView ? view.content : view}
    </>
  );
  const title = typeof page.title === 'string' ? page.title : page.title(visit);
  show(ctx, services, { title, content, status: answer.status, under: page.under });
}

function visitOf(ctx: RoutedContext, services: Services, session: ConsoleSession): Visit {
  const { routes, masterKeys, config } = services;
  const database = services.database.forClient(session.clientId);
  return {
    session,
    operations: operationsOf(routes, database, session),
    params: readParams(ctx.params ?? {}),
    query: new URLSearchParams(ctx.querystring),
    config,
    read: (work) => readLimited(database, work),
    db: database,
    masterKeys,
  };
}

const permits = ({ scopes }: ConsoleSession, { scope }: Pick<Page, 'scope'>) => scope === null || scopes.has(scope);

function requireScope(session: ConsoleSession, declared: Pick<Page, 'scope'>): void {
  if (declared.scope !== null && !permits(session, declared)) throw lacksScope([declared.scope]);
}

function withoutSecrets(fields: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams(fields);
  for (const name of SECRET_FIELDS) kept.delete(name);
  return kept;
}
