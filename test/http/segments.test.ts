import Router from '@koa/router';
import Koa from 'koa';
import type { State } from '../../src/http/context.js';
import { routeOf } from '../../src/http/middleware.js';
import { routesBySegment } from '../../src/http/segments.js';

/** The patterns that served the paths; null: none did. */
async function routesOf(paths: readonly string[]): Promise<(string | null)[]> {
  const router = new Router<State>({ strict: true, sensitive: true });
  for (const path of ['/', '/transfers', '/transfers/:id', '/events/:id/deliveries', '/openapi.json']) {
    router.get(path, (ctx) => {
      ctx.body = routeOf(ctx);
    });
  }
  const app = new Koa<State>();
  app.use(routesBySegment(router));
  const server = app.listen(0);
  try {
    const { port } = server.address() as { port: number };
    const ask = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return response.ok ? response.text() : null;
    };
    return await Promise.all(paths.map(ask));
  } finally {
    server.close();
  }
}

test('each path is served by the route that @koa/router alone would choose', async () => {
  const served = ['/', '/transfers', '/transfers/7', '/events/7/deliveries', '/openapi.json', '/transfers?a=/events'];
  expect(await routesOf(served)).toEqual([
    '/',
    '/transfers',
    '/transfers/:id',
    '/events/:id/deliveries',
    '/openapi.json',
    '/transfers',
  ]);
});

test('a path of another segment, case or depth has no route', async () => {
  const unserved = [
    '/transfer',
    '/Transfers',
    '/transfers/',
    '/transfers/7/8',
    '//transfers',
    '/events',
    '/%74ransfers',
  ];
  expect(await routesOf(unserved)).toEqual(unserved.map(() => null));
});
