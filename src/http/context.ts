import type { Context, Middleware } from 'koa';
import type { Authority } from '../auth/authority.js';
import type { Caller } from '../auth/caller.js';
import type { Handover } from '../delivery/handover.js';
import type { Config } from '../platform/config/config.js';
import type { Database } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import type { Readiness } from '../process/readiness.js';

/** The dependencies of the API; the entry file of a role creates them. */
export interface AppDependencies {
  config: Config;
  database: Database;
  masterKeys: MasterKeys;
  handover: Handover;
  authority: Authority;
  metrics: Pick<Metrics, 'requestStarted' | 'requestCompleted'>;
  log: Log;
  readiness: () => Promise<Readiness>;
  /** The number of live API processes, with this one. */
  liveApis: () => number;
}

/** The facts about a request that the middleware determine. */
export interface State {
  requestId: string;
  /** The client's address; `X-Forwarded-For` counts where it is set by a proxy of `TRUSTED_PROXIES`. */
  address: string;
  /** Set on every route that needs a token. */
  caller: Caller;
  /** Set by a token request, for the log. Without `secretId` the client id is only a claim; with it, it is verified. */
  tokenClient?: { clientId: string; secretId?: string; byKey?: boolean };
}

export type AppContext = Context & { state: State };
export type AppMiddleware = Middleware<State>;
