import type { Context, Middleware } from 'koa';
import type { Caller } from '../auth/caller.js';

/** The facts about a request that the middleware determine. */
export interface State {
  requestId: string;
  /** The client's address; `X-Forwarded-For` counts where it is set by a proxy of `TRUSTED_PROXIES`. */
  address: string;
  /** Set on every route that needs a token. */
  caller: Caller;
  /** Set by a token request, for the log. Without `secretId` the client id is only a claim; with it, it is verified. */
  tokenClient?: { clientId: string; secretId?: string };
}

export type AppContext = Context & { state: State };
export type AppMiddleware = Middleware<State>;
