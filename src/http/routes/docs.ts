import Router from '@koa/router';
import type { AppDependencies } from '../dependencies.js';
import { openApiDocument } from '../openapi/document.js';
import { explorerPage, explorerPolicy, explorerScript } from '../openapi/explorer.js';
import { explorerFiles } from '../openapi/explorer-files.js';
import { plainPage, plainPolicy } from '../openapi/page.js';
import type { Route } from '../route.js';
import type { AppMiddleware, State } from '../state.js';
import { staticDocument } from '../static-document.js';

/** `/openapi.json`, the same document as an API explorer at `/docs`, and without script at `/docs/plain`. */
export function docsRouter({ config }: AppDependencies, routes: readonly Route[], limit: AppMiddleware): Router<State> {
  const document = openApiDocument(routes, config);
  const router = new Router<State>({ strict: true, sensitive: true });
  const page = (text: string, policy: string) =>
    staticDocument('text/html', text, { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' });
  const script = (content: Parameters<typeof staticDocument>[1]) => staticDocument('text/javascript', content, {});
  const documents: Record<string, AppMiddleware> = {
    '/openapi.json': staticDocument('application/json', JSON.stringify(document), {
      'Access-Control-Allow-Origin': '*',
    }),
    '/docs': page(explorerPage(document), explorerPolicy(document, config)),
    '/docs/plain': page(plainPage(document), plainPolicy),
    '/docs/explorer.js': script(explorerScript(document, config)),
    '/docs/scalar.js': script(explorerFiles()),
  };
  for (const [path, serve] of Object.entries(documents)) router.get(path, limit, serve);
  return router;
}
