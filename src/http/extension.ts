import type Router from '@koa/router';
import type { AppDependencies } from './dependencies.js';
import type { RateLimit } from './middleware/rate-limit.js';
import type { FailedAuthentications } from './oauth/failed-authentications.js';
import type { Route } from './route.js';
import type { AppMiddleware, State } from './state.js';

/** What an extension shares with the API. */
export interface Shared extends AppDependencies {
  /** Every operation of the API that requires a token, with the limits that it counts. */
  routes: readonly Route[];
  /** The limit of failed authentications by address, which the token endpoint counts too. */
  failures: FailedAuthentications;
  /** Counts the requests of clients, which the API's count in too. */
  rateLimit: RateLimit;
}

/** Further paths of the application, from a room above this one. */
export interface Extension {
  /** Runs around the checks of every request, so that errors on the extension's paths have its own form. */
  errors: AppMiddleware;
  /** Runs before the routes of every request, when the address is known. */
  before: AppMiddleware;
  router: Router<State>;
}

/** Makes an extension of the application; the entry file of a role passes it to `createApp`. */
export type Extend = (shared: Shared) => Extension;
