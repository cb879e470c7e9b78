import Router from '@koa/router';
import type { AppDependencies } from '../dependencies.js';
import { openApiDocument } from '../openapi/document.js';
import { docsPage, docsPolicy } from '../openapi/page.js';
import type { Route } from '../route.js';
import type { AppMiddleware, State } from '../state.js';
import { staticDocument } from '../static-document.js';

/** `/openapi.json`, and `/docs`: the same document as a self-contained page (no script, no external resource). */
export function docsRouter({ config }: AppDependencies, routes: readonly Route[], limit: AppMiddleware): Router<State> {
  const document = openApiDocument(routes, config);
  const router = new Router<State>({ strict: true, sensitive: true });
  const json = staticDocument('application/json', JSON.stringify(document), { 'Access-Control-Allow-Origin': '*' });
  const page = staticDocument('text/html', docsPage(document), {
    'Content-Security-Policy': docsPolicy,
    'Referrer-Policy': 'no-referrer',
  });
  router.get('/openapi.json', limit, json);
  router.get('/docs', limit, page);
  return router;
}
