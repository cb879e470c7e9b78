import { untilSignalled } from './cli/signals.js';
import { createDeliveryEngine } from './outbox/delivery-engine.js';
import { layFoundations, stopInOrder } from './process.js';

/** The role `worker`: makes the deliveries. Every outbound request of the service leaves from here. */
export async function runWorker(env: NodeJS.ProcessEnv): Promise<void> {
  const signalled = untilSignalled();
  const foundations = layFoundations(env, 'worker');
  const { database, log } = foundations;
  const engine = createDeliveryEngine(foundations);
  engine.start();
  await signalled;
  await stopInOrder(log, [() => engine.stop(), () => database.close()]);
}
