import Router from '@koa/router';
import type { Extend } from '../http/extension.js';
import { routeOf } from '../http/route-of.js';
import type { AppMiddleware, State } from '../http/state.js';
import { assetsRouter } from './assets.js';
import { ErrorView, logFault, shownError } from './errors.js';
import { guard, isConsolePath } from './guard.js';
import { isForm } from './page.js';
import { PageError } from './page-error.js';
import { declared } from './pages/index.js';
import { CONSOLE_HEADERS } from './render.js';
import { runForm, runPage } from './run.js';
import { type Services, servicesOf } from './services.js';
import { redirect, show } from './show.js';
import { signInRouter } from './sign-in.js';

/**
 * The console: web pages for the people of one client (contract, The console). Each request passes the headers, the
 * check of its origin, its session, the scope of the page, and the client's rate limit.
 */
export const consoleExtension: Extend = (shared) => {
  const pages = declared.flatMap((one) => (isForm(one) ? [] : [one]));
  const services = servicesOf(
    shared,
    pages.filter(({ navigation }) => navigation !== undefined),
  );
  const router = new Router<State>({ strict: true, sensitive: true });
  router.get('/console/', (ctx) => redirect(ctx, services, '/console'));
  router.use(assetsRouter().routes());
  router.use(signInRouter(services).routes());
  for (const one of declared) {
    const path = one.path.replace(/{(\w+)}/g, ':$1');
    if (isForm(one)) router.post(path, (ctx) => runForm(ctx, services, one));
    else router.get(path, (ctx) => runPage(ctx, services, one));
  }
  return { errors: errorPages(services), before: guard(services), router };
};

/** Sets the headers of every response under `/console`, and shows each error there as a page. */
function errorPages(services: Services): AppMiddleware {
  return async (ctx, next) => {
    if (!isConsolePath(ctx.path)) return next();
    ctx.set(CONSOLE_HEADERS);
    try {
      await next();
    } catch (thrown) {
      const { requestId } = ctx.state;
      logFault(services.log, thrown, requestId);
      const error = shownError(unrouted(ctx) && isNotFound(thrown) ? NO_PAGE : thrown);
      ctx.set({ ...error.headers });
      const content = <ErrorView error={error} requestId={requestId} />;
      show(ctx, services, { title: error.title, content, status: error.status });
    }
  };
}

const NO_PAGE = new PageError(404, 'Not found', 'The console has no such page.');

const unrouted = (ctx: object) => routeOf(ctx) === undefined;

const isNotFound = (error: unknown) => shownError(error).status === 404;
