import Router from '@koa/router';
import type { Config } from '../../config.js';
import { presentMeta } from '../presenters/meta.js';
import type { State } from '../state.js';

/** `/meta`: open to all, since it holds nothing of any client. */
export function metaRouter(config: Config): Router<State> {
  const meta = presentMeta(config);
  const router = new Router<State>({ strict: true, sensitive: true });
  router.get('/meta', (ctx) => {
    ctx.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'public, max-age=300' });
    ctx.body = meta;
  });
  return router;
}
