import Router from '@koa/router';
import type { Readiness } from '../../process/readiness.js';
import { Refusal } from '../../refusal.js';
import { problemResponse, send, writeResponse } from '../response.js';
import type { State } from '../state.js';

export interface HealthDependencies {
  baseUrl: string;
  readiness: () => Promise<Readiness>;
}

/** `/healthz`: the process is alive; `/readyz`: the process can do its work (contract, Errors, limits, paging). */
export function healthRouter({ baseUrl, readiness }: HealthDependencies): Router<State> {
  const router = new Router<State>({ strict: true, sensitive: true });
  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    const { ready, checks } = await readiness();
    if (ready) {
      ctx.body = { status: 'ready', checks };
      return;
    }
    const where = { baseUrl, path: ctx.path, requestId: ctx.state.requestId };
    const { body, ...response } = problemResponse(new Refusal('unavailable', 'This process is not ready.'), where);
    send(ctx, writeResponse({ ...response, body: { ...(body as object), checks } }));
  });
  return router;
}
