import Router from '@koa/router';
import Koa from 'koa';
import { withDeadline } from '../platform/deadline.js';
import { Networks } from '../platform/networks.js';
import type { AppDependencies, AppMiddleware, State } from './context.js';
import { dispatch } from './dispatch.js';
import {
  accessLog,
  authenticate,
  decodablePath,
  logRejected,
  networks,
  problems,
  requestId,
  requireScope,
  secureHeaders,
  traceRequest,
  unrouted,
  withoutFinalSlash,
} from './middleware.js';
import {
  addTokenEndpoint,
  type FailedAuthentications,
  failedAuthentications,
  tokenCors,
  tokenErrors,
} from './oauth/token.js';
import { addWellKnown } from './oauth/well-known.js';
import { addHealth } from './operations.js';
import { documentLimit, limitClients, type RateLimit, rateLimit } from './rate-limits.js';
import type { Route } from './route.js';
import { consoleSessionRoutes } from './routes/console-sessions.js';
import { deliveryRoutes } from './routes/deliveries.js';
import { addDocuments } from './routes/documents.js';
import { endpointRoutes } from './routes/endpoints.js';
import { eventRoutes } from './routes/events.js';
import { operatorClientRoutes } from './routes/operator-clients.js';
import { receiverCheckRoutes } from './routes/receiver-checks.js';
import { recoveryRoutes } from './routes/recoveries.js';
import { operatorTransferRoutes, statusRoutes, transferRoutes } from './routes/transfers.js';

/**
 * The API as a Koa application. It covers everything except the requests that are sent to receivers.
 * @param extend adds further paths, such as the console's
 */
export function createApp(dependencies: AppDependencies, extend?: Extend): Koa<State> {
  const { config, database, authority, log, metrics } = dependencies;
  const routes = apiRoutes(dependencies);
  const limit = rateLimit(config.rateLimit, dependencies.liveApis);
  const failures = failedAuthentications(database);
  const extension = extend?.({ ...dependencies, routes, failures, rateLimit: limit });
  const router = new Router<State>({ strict: true, sensitive: true });
  addRoutes(router, routes, dependencies, limit);
  addTokenEndpoint(router, { authority, failures });
  const documents = documentLimit();
  addWellKnown(router, authority, documents);
  addHealth(router, config.baseUrl, dependencies.readiness);
  addDocuments(router, config, routes, documents);
  if (extension) router.use(extension.router.routes());

  const app = new Koa<State>();
  // Only faults of a socket or a stream arrive here: `problems` turns every other error into a response.
  app.silent = true;
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection fault'));
  app.on('rejected', logRejected(log, metrics, new Networks(config.trustedProxies)));
  app.use(requestId);
  app.use(secureHeaders(config.baseUrl));
  app.use(traceRequest);
  app.use(accessLog(log, metrics));
  app.use(problems({ baseUrl: config.baseUrl, log }));
  app.use(tokenCors(authority));
  app.use(tokenErrors(authority.issuer, log));
  if (extension) app.use(extension.errors);
  // Whatever a request waits for, it then gets 503 and commits nothing. One that sends its body slowly gets 408 before.
  app.use((_ctx, next) => withDeadline(config.requestDeadline, next));
  app.use(networks(config));
  if (extension) app.use(extension.before);
  app.use(withoutFinalSlash);
  app.use(decodablePath);
  app.use(router.routes());
  app.use(unrouted(router));
  return app;
}

/** The token and its scope are checked before the rest of a request is read. */
function addRoutes(router: Router<State>, routes: readonly Route[], dependencies: AppDependencies, limit: RateLimit) {
  const authenticated = authenticate(dependencies.authority);
  const limited = limitClients(limit);
  for (const route of routes) {
    const path = route.path.replace(/{(\w+)}/g, ':$1');
    const handle = dispatch(route, dependencies);
    router.register(path, [route.method], [authenticated, requireScope(route.scopes), limited, handle]);
  }
}

/** What an extension shares with the API. */
export interface Shared extends AppDependencies {
  /** Every operation of the API that requires a token, with the limits that it counts. */
  routes: readonly Route[];
  /** The limit of failed authentications by address, which the token endpoint counts too. */
  failures: FailedAuthentications;
  /** Counts the requests of clients, which the API's count in too. */
  rateLimit: RateLimit;
}

/** Further paths of the application, from a layer above this one; the entry file of a role passes it to `createApp`. */
export type Extend = (shared: Shared) => {
  /** Runs around the checks of every request, so that errors on the extension's paths have its own form. */
  errors: AppMiddleware;
  /** Runs before the routes of every request, when the address is known. */
  before: AppMiddleware;
  router: Router<State>;
};

/** Every route that requires a token. */
export function apiRoutes(dependencies: AppDependencies): Route[] {
  return [
    endpointRoutes,
    transferRoutes,
    eventRoutes,
    deliveryRoutes,
    operatorTransferRoutes,
    operatorClientRoutes,
    statusRoutes,
    consoleSessionRoutes,
    recoveryRoutes,
    receiverCheckRoutes,
  ].flatMap((routes) => routes(dependencies));
}
