import type { Context, Middleware } from 'koa';
import type { Caller } from '../auth/caller.js';

/** What the middleware learn about a request on its way in. */
export interface State {
  requestId: string;
  /** Whom the request is judged as coming from (`TRUSTED_PROXIES` considered). */
  address: string;
  /** Set on every route that needs a token. */
  caller: Caller;
}

export type AppContext = Context & { state: State };
export type AppMiddleware = Middleware<State>;
