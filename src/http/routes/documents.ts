import type Router from '@koa/router';
import type { Config } from '../../platform/config/config.js';
import type { AppMiddleware, State } from '../context.js';
import { openApiDocument } from '../openapi/document.js';
import { explorerFile, explorerPage, explorerPolicy, explorerScript } from '../openapi/explorer.js';
import {
  guideMarkdown,
  guidePage,
  guidePolicy,
  indexPage,
  LINKS,
  llmsText,
  signatureVectors,
} from '../openapi/guide.js';
import { staticDocument } from '../response.js';
import type { Route } from '../route.js';
import { presentMeta } from '../schemas/meta.js';

/**
 * `/`, whose links lead to the others; `/openapi.json`, the same document as an API explorer at `/docs`; the guide,
 * without script, at `/docs/guide` and as Markdown; `/llms.txt`; the vectors that test a verifier; `/meta`, which
 * contains no client's data. Each is made for its first reader: together they cost a tenth of a second, in which a
 * starting process would serve nobody.
 */
export function addDocuments(router: Router<State>, config: Config, routes: readonly Route[], limit: AppMiddleware) {
  const document = once(() => openApiDocument(routes, config));
  const json = (text: string) => staticDocument('application/json', text, { 'Access-Control-Allow-Origin': '*' });
  const page = (text: string, policy: string) =>
    staticDocument('text/html', text, { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' });
  const compressed = (type: string, name: string) =>
    staticDocument(type, explorerFile(name), { 'Content-Encoding': 'gzip' });
  const index = () => {
    const links = Object.entries(LINKS).map(([name, [path]]) => [name, `${config.baseUrl}${path}`]);
    const { environment } = config;
    const forClients = staticDocument(
      'application/json',
      JSON.stringify({ name: 'Transfer Service', environment, ...Object.fromEntries(links) }),
    );
    const forBrowsers = page(indexPage(config), guidePolicy);
    const either: AppMiddleware = (ctx, next) => {
      ctx.vary('Accept');
      return (ctx.accepts('json', 'html') === 'html' ? forBrowsers : forClients)(ctx, next);
    };
    return either;
  };
  const documents = {
    '/': index,
    '/meta': () => json(JSON.stringify(presentMeta(config))),
    '/openapi.json': () => json(JSON.stringify(document())),
    '/docs': () => page(explorerPage(document()), explorerPolicy(document(), config)),
    '/docs/guide': () => page(guidePage(), guidePolicy),
    '/docs/guide.md': () => staticDocument('text/markdown', guideMarkdown()),
    '/llms.txt': () => staticDocument('text/plain', llmsText(config)),
    '/docs/signature-vectors.json': () => staticDocument('application/json', signatureVectors()),
    '/docs/explorer.js': () => staticDocument('text/javascript', explorerScript(document(), config)),
    '/docs/swagger-ui.js': () => compressed('text/javascript', 'swagger-ui-bundle.js'),
    '/docs/swagger-ui.css': () => compressed('text/css', 'swagger-ui.css'),
  };
  for (const [path, make] of Object.entries(documents)) {
    const made = once(make);
    router.get(path, limit, (ctx, next) => made()(ctx, next));
  }
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
