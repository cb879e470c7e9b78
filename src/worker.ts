import { findMasterKeyFault } from './auth/master-key.js';
import { listenForOperators } from './http/operations.js';
import { ConfigError } from './platform/config/config-error.js';
import { runRole } from './process/bootstrap.js';
import { createDeliveryEngine } from './process/delivery-engine.js';
import { announceReady } from './process/lifecycle.js';
import { readinessOf } from './process/readiness.js';

/**
 * The role `worker`: makes every attempt. No other role connects to receivers. Prints `ready` when it has started, with
 * its health URL if METRICS_PORT is set.
 */
export async function runWorker(env: NodeJS.ProcessEnv, announce = announceReady): Promise<void> {
  await runRole(env, 'worker', announce, async (context, stops) => {
    const { database, masterKeys, log } = context;
    const engine = createDeliveryEngine(context);
    stops.unshift(() => engine.stop());
    const fault = await findMasterKeyFault(database, masterKeys).catch((error: unknown) =>
      log.warn({ err: error }, 'the master key could not be checked; it is checked when a secret does not open'),
    );
    if (fault) throw new ConfigError([fault]);
    const operations = await listenForOperators(context, readinessOf(context, { worker: engine.temporal }));
    // Attempts in flight may take 20 s to end. Until then the process responds to `/healthz`.
    stops.splice(1, 0, () => operations.close());
    engine.start();
    return operations.url;
  });
}
