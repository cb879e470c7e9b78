import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import Router from '@koa/router';
import type { Extend } from '../http/app.js';
import type { AppContext, State } from '../http/context.js';
import { staticDocument } from '../http/response.js';
import { ASSETS_PATH, guard, servicesOf } from './guard.js';
import { isForm, pointsOf } from './page.js';
import { declared } from './pages/index.js';
import { errorPages, runForm, runPage } from './run.js';
import { signInRouter } from './sign-in.js';

/**
 * The console: web pages for the people of one client. Each request passes the headers, the
 * rate limit, the check of its origin, its session, and the scope of the page.
 */
export const consoleExtension: Extend = (shared) => {
  const services = servicesOf(shared);
  const router = new Router<State>({ strict: true, sensitive: true });
  for (const [place, type] of Object.entries(ASSETS)) {
    const file = new URL(place, import.meta.url);
    const document = staticDocument(type, readFileSync(file, 'utf8'), { 'Cache-Control': 'no-cache' });
    router.get(`${ASSETS_PATH}${basename(file.pathname)}`, document);
  }
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

/** The media types of the files. A browser asks each time whether its copy is current. */
const ASSETS = {
  './assets/console.css': 'text/css',
  './assets/live.js': 'text/javascript',
  './assets/icon.svg': 'image/svg+xml',
  [import.meta.resolve('idiomorph/dist/idiomorph.min.js')]: 'text/javascript',
};
