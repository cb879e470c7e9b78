import type { Authority } from '../auth/authority.js';
import type { Config } from '../config.js';
import type { Database } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import type { Handover } from '../outbox/handover.js';
import type { Readiness } from '../process/readiness.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { DeliveryActions } from '../webhooks/delivery-actions.js';
import type { CheckAction } from '../workflow-starts/check.js';

/** The dependencies of the API; the entry file of a role creates them. */
export interface AppDependencies {
  config: Config;
  database: Database;
  masterKeys: MasterKeys;
  handover: Handover;
  authority: Authority;
  deliveryActions: DeliveryActions;
  checkAction: CheckAction;
  metrics: Pick<Metrics, 'requestStarted' | 'requestCompleted'>;
  log: Log;
  readiness: () => Promise<Readiness>;
}
