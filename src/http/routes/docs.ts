import Router from '@koa/router';
import type { AppDependencies } from '../dependencies.js';
import { openApiDocument } from '../openapi/document.js';
import { docsPage, docsPolicy } from '../openapi/page.js';
import type { Route } from '../route.js';
import type { State } from '../state.js';

/** `/openapi.json`, and `/docs`: the same for reading, whole in itself (no script, nothing fetched from anywhere). */
export function docsRouter({ config }: AppDependencies, routes: readonly Route[]): Router<State> {
  const document = openApiDocument(routes, config);
  const json = JSON.stringify(document);
  const page = docsPage(document);
  const router = new Router<State>({ strict: true, sensitive: true });
  router.get('/openapi.json', (ctx) => {
    ctx.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'public, max-age=300' });
    ctx.type = 'application/json';
    ctx.body = json;
  });
  router.get('/docs', (ctx) => {
    ctx.set({
      'Content-Security-Policy': docsPolicy,
      'Cache-Control': 'public, max-age=300',
      'Referrer-Policy': 'no-referrer',
    });
    ctx.type = 'text/html';
    ctx.body = page;
  });
  return router;
}
