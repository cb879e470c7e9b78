import type Router from '@koa/router';
import { z } from 'zod';
import { formatLadder } from '../../../workflows/ladder.js';
import { EVENT_VERSION } from '../../delivery/event-catalogue.js';
import type { Config } from '../../platform/config/config.js';
import { VERSION } from '../../platform/version.js';
import type { AppMiddleware, State } from '../context.js';
import { openApiDocument } from '../openapi/document.js';
import { explorerFile, explorerPage, explorerPolicy, explorerScript } from '../openapi/explorer.js';
import { guidePage, guidePolicy, signatureVectors } from '../openapi/guide.js';
import { staticDocument } from '../response.js';
import type { Route } from '../route.js';
import { present, view } from '../schemas/fields.js';

const metaView = view('Meta', {
  environment: z.enum(['sandbox', 'production']),
  version: z.string().meta({ description: 'The release of the service.', examples: [VERSION] }),
  event_version: z.string().meta({ description: 'The version of the event format.', examples: [EVENT_VERSION] }),
  retry_delays: z.array(z.string()).meta({
    description: 'The delays of the retries after the first attempt, in order.',
    examples: [['0s', '5m', '30m', '2h', '6h', '24h']],
  }),
  egress_addresses: z.array(z.string()).meta({
    description: 'The networks (CIDR) that deliveries come from; empty if the operator has not configured them.',
    examples: [['203.0.113.0/28']],
  }),
});

/**
 * The facts about an environment that an integrator needs before the first delivery (contract, Errors, limits, paging).
 */
export function presentMeta(config: Pick<Config, 'environment' | 'retryDelays' | 'egressAddresses'>) {
  const retryDelays = formatLadder(config.retryDelays);
  const egressAddresses = [...config.egressAddresses];
  return present(metaView, { ...config, version: VERSION, eventVersion: EVENT_VERSION, retryDelays, egressAddresses });
}

/**
 * `/openapi.json`, the same document as an API explorer at `/docs`; the guide, without script, at `/docs/guide`; the
 * vectors that test a verifier; `/meta`, which contains no client's data. Each is made for its first reader: together they
 * cost a tenth of a second, in which a starting process would serve nobody.
 */
export function addDocuments(router: Router<State>, config: Config, routes: readonly Route[], limit: AppMiddleware) {
  const document = once(() => openApiDocument(routes, config));
  const json = (content: object) =>
    staticDocument('application/json', JSON.stringify(content), { 'Access-Control-Allow-Origin': '*' });
  const page = (text: string, policy: string) =>
    staticDocument('text/html', text, { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' });
  const script = (content: Parameters<typeof staticDocument>[1]) => staticDocument('text/javascript', content, {});
  const documents = {
    '/meta': () => json(presentMeta(config)),
    '/openapi.json': () => json(document()),
    '/docs': () => page(explorerPage(document()), explorerPolicy(document(), config)),
    '/docs/guide': () => page(guidePage(), guidePolicy),
    '/docs/signature-vectors.json': () => json(signatureVectors()),
    '/docs/explorer.js': () => script(explorerScript(document(), config)),
    '/docs/swagger-ui.js': () => script(explorerFile('swagger-ui-bundle.js')),
    '/docs/swagger-ui.css': () => staticDocument('text/css', explorerFile('swagger-ui.css'), {}),
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
