import { checkMasterKey } from './auth/master-key.js';
import { listenForOperators } from './http/operations.js';
import { ConfigError } from './platform/config/config-error.js';
import { bootstrap, stopInOrder } from './process/bootstrap.js';
import { createDeliveryEngine } from './process/delivery-engine.js';
import { announceReady, untilSignalled } from './process/lifecycle.js';
import { readinessOf } from './process/readiness.js';

/**
 * The role `worker`: makes every attempt. No other role connects to receivers. Prints `ready` when it has started, with
 * its health URL if METRICS_PORT is set.
 */
export async function runWorker(env: NodeJS.ProcessEnv, announce = announceReady): Promise<void> {
  const signalled = untilSignalled();
  const context = await bootstrap(env, 'worker');
  const { database, masterKeys, log, stopTracing } = context;
  const engine = createDeliveryEngine(context);
  const rest = [() => engine.stop(), () => database.close(), stopTracing];
  try {
    await checkMasterKey(database, masterKeys).catch((error: unknown) => {
      if (error instanceof ConfigError) throw error;
      log.warn({ err: error }, 'the master key could not be checked; it is checked when a secret does not open');
    });
    const readiness = readinessOf(context, signalled, { worker: engine.temporal });
    const operations = await listenForOperators(context, readiness);
    // Attempts in flight may take 20 s to end. Until then the process responds to `/healthz`.
    rest.splice(1, 0, () => operations.close());
    engine.start();
    announce(operations.url);
    await signalled;
  } finally {
    await stopInOrder(log, rest);
  }
}
