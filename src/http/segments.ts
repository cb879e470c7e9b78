import Router from '@koa/router';
import type { AppMiddleware, State } from './context.js';

/**
 * Runs the routes of `router`. A request is compared only with the routes that share the first segment of its path;
 * @koa/router alone compares each request with every route.
 */
export function routesBySegment(router: Router<State>): AppMiddleware {
  const routers = new Map<string, Router<State>>();
  for (const layer of router.stack) {
    const segment = firstSegment(String(layer.path));
    const same = routers.get(segment) ?? new Router<State>(router.opts);
    same.stack.push(layer);
    routers.set(segment, same);
  }
  const routes = new Map([...routers].map(([segment, same]) => [segment, same.routes()]));
  const handleBySegment: AppMiddleware = (ctx, next) => {
    const handle = routes.get(firstSegment(ctx.path));
    return handle ? handle(ctx as Parameters<typeof handle>[0], next) : next();
  };
  // As @koa/router's own middleware names its router.
  return Object.assign(handleBySegment, { router });
}

/** `'/transfers/{id}'` → `'transfers'`. */
function firstSegment(path: string): string {
  const end = path.indexOf('/', 1);
  return end < 0 ? path.slice(1) : path.slice(1, end);
}
