import Router from '@koa/router';
import type { Config } from '../../config.js';
import { presentMeta } from '../presenters/meta.js';
import type { AppMiddleware, State } from '../state.js';

/** `/meta`: needs no token, because it contains no client's data. */
export function metaRouter(config: Config, limit: AppMiddleware): Router<State> {
  const meta = presentMeta(config);
  const router = new Router<State>({ strict: true, sensitive: true });
  router.get('/meta', limit, (ctx) => {
    ctx.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'public, max-age=300' });
    ctx.body = meta;
  });
  return router;
}
