import type { Context, Middleware } from 'koa';
import type { Caller } from '../auth/caller.js';

/** What the middleware learn about a request on its way in. */
export interface State {
  requestId: string;
  /** Whom the request is judged as coming from (`TRUSTED_PROXIES` considered). */
  address: string;
  /** Set on every route that needs a token. */
  caller: Caller;
  /** Set by a token request, for the log: what it claims where it has failed, what is certain with `secretId`. */
  tokenClient?: { clientId: string; secretId?: string };
}

export type AppContext = Context & { state: State };
export type AppMiddleware = Middleware<State>;
