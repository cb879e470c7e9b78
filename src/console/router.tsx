import Router from '@koa/router';
import type { Extend } from '../http/extension.js';
import { routeOf } from '../http/route-of.js';
import type { AppContext, AppMiddleware, State } from '../http/state.js';
import { assetsRouter } from './assets.js';
import { ErrorView, logFault, shownError } from './errors.js';
import { guard, isConsolePath } from './guard.js';
import { isForm, pointsOf } from './page.js';
import { PageError } from './page-error.js';
import { declared } from './pages/index.js';
import { CONSOLE_HEADERS } from './render.js';
import { runForm, runPage } from './run.js';
import { type Services, servicesOf } from './services.js';
import { redirect, show } from './show.js';
import { signInRouter } from './sign-in.js';

/**
 * The console: web pages for the people of one client (contract, The console). Each request passes the headers, the
 * rate limit, the check of its origin, its session, and the scope of the page.
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
  const points = new Map<string, number>();
  for (const one of declared) {
    const path = one.path.replace(/{(\w+)}/g, ':$1');
    points.set(`${isForm(one) ? 'POST' : 'GET'} ${path}`, pointsOf(one));
    if (isForm(one)) router.post(path, (ctx) => runForm(ctx, services, one));
    else router.get(path, (ctx) => runPage(ctx, services, one));
  }
  const pointsOfRequest = ({ path, method }: AppContext) => {
    const layer = router.match(path, method).pathAndMethod.at(-1);
    return layer && (points.get(`${method === 'HEAD' ? 'GET' : method} ${layer.path}`) ?? SIGN_IN_POINTS);
  };
  return { errors: errorPages(services), before: guard(services, pointsOfRequest), router };
};

/** An address without a session gets 20 sign-ins and pages of it a second, as it gets 20 documents. */
const SIGN_IN_POINTS = 5;

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
      const again = ctx.method === 'GET' && error.status === 503 ? `${ctx.path}${ctx.search}` : undefined;
      const content = <ErrorView error={error} requestId={requestId} again={again} />;
      show(ctx, services, { title: error.title, content, status: error.status });
    }
  };
}

const NO_PAGE = new PageError(404, 'Not found', 'The console has no such page.');

const unrouted = (ctx: object) => routeOf(ctx) === undefined;

const isNotFound = (error: unknown) => shownError(error).status === 404;
