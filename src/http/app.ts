import Router from '@koa/router';
import Koa from 'koa';
import type { AppDependencies } from './dependencies.js';
import { dispatch } from './dispatch.js';
import type { Extend, Extension } from './extension.js';
import { accessLog } from './middleware/access-log.js';
import { authenticate, requireScope } from './middleware/authenticate.js';
import { deadline } from './middleware/deadline.js';
import { documentLimit } from './middleware/document-limit.js';
import { decodablePath, unrouted } from './middleware/known-path.js';
import { networks } from './middleware/networks.js';
import { problems } from './middleware/problems.js';
import { limitClients, rateLimit } from './middleware/rate-limit.js';
import { requestId } from './middleware/request-id.js';
import { secureHeaders } from './middleware/secure-headers.js';
import { traceRequest } from './middleware/trace.js';
import { FailedAuthentications } from './oauth/failed-authentications.js';
import { scopesOf } from './route.js';
import { docsRouter } from './routes/docs.js';
import { healthRouter } from './routes/health.js';
import { apiRoutes } from './routes/index.js';
import { metaRouter } from './routes/meta.js';
import { tokenErrors, tokenRouter } from './routes/token.js';
import { wellKnownRouter } from './routes/well-known.js';
import { routesBySegment } from './segments.js';
import type { State } from './state.js';

export type { Readiness } from '../process/readiness.js';
export type { AppDependencies } from './dependencies.js';

/**
 * The API as a Koa application. It covers the whole contract except the requests that are sent to receivers.
 * @param extensions further paths, such as the console's
 */
export function createApp(dependencies: AppDependencies, extensions: readonly Extend[] = []): Koa<State> {
  const { config, log, metrics } = dependencies;
  const { router, extended } = createRouter(dependencies, extensions);
  const app = new Koa<State>();
  // Only faults of a socket or a stream arrive here: `problems` turns every other error into a response.
  app.silent = true;
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection fault'));
  app.use(requestId());
  app.use(secureHeaders(config.baseUrl));
  app.use(traceRequest());
  app.use(accessLog(log, metrics));
  app.use(problems({ baseUrl: config.baseUrl, log }));
  app.use(tokenErrors(dependencies));
  for (const { errors } of extended) app.use(errors);
  app.use(deadline(config.requestDeadline));
  app.use(networks(config));
  for (const { before } of extended) app.use(before);
  app.use(decodablePath());
  app.use(routesBySegment(router));
  app.use(unrouted(router));
  return app;
}

/**
 * Every path of the service. The token and its scope are checked before the rest of a request is read (contract,
 * Scopes).
 */
function createRouter(
  dependencies: AppDependencies,
  extensions: readonly Extend[],
): { router: Router<State>; extended: Extension[] } {
  const { config, database, masterKeys, authority } = dependencies;
  const routes = apiRoutes(dependencies);
  const router = new Router<State>({ strict: true, sensitive: true });
  const authenticated = authenticate(authority);
  const limit = rateLimit(config.rateLimit);
  const limited = limitClients(limit);
  const documents = documentLimit();
  const failures = new FailedAuthentications(dependencies.database);
  const extended = extensions.map((extend) => extend({ ...dependencies, routes, failures, rateLimit: limit }));
  for (const route of routes) {
    const path = route.path.replace(/{(\w+)}/g, ':$1');
    router.register(
      path,
      [route.method],
      [
        authenticated,
        requireScope(scopesOf(route)),
        limited,
        dispatch(route, { database, masterKeys, baseUrl: config.baseUrl }),
      ],
    );
  }
  for (const other of [
    tokenRouter({ ...dependencies, failures }),
    wellKnownRouter(dependencies, documents),
    healthRouter({ baseUrl: config.baseUrl, readiness: dependencies.readiness }),
    metaRouter(config, documents),
    docsRouter(dependencies, routes, documents),
    ...extended.map((extension) => extension.router),
  ]) {
    router.use(other.routes());
  }
  return { router, extended };
}
