import { createDeliveryEngine } from './outbox/delivery-engine.js';
import { layFoundations, serveUntilSignalled } from './process.js';

/** The role `worker`: makes the deliveries. Every outbound request of the service leaves from here. */
export async function runWorker(env: NodeJS.ProcessEnv): Promise<void> {
  const foundations = layFoundations(env, 'worker');
  const { database, log } = foundations;
  const engine = createDeliveryEngine(foundations);
  engine.start();
  await serveUntilSignalled(log, [() => engine.stop(), () => database.close()]);
}
