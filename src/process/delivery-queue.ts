import { createActivities } from '../../activities/deliver.js';
import { createRecoverActivities } from '../../activities/recover.js';
import { createRemoveExpiredActivities } from '../../activities/remove-expired.js';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import type { Config } from '../config.js';
import type { AttemptSlots } from '../express-lane/attempt-slots.js';
import type { SharedSlots } from '../express-lane/shared-slots.js';
import { WaitingRetries } from '../express-lane/waiting-retries.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { ServedQueue, TemporalWorker } from '../temporal/worker.js';
import { EndpointLimits } from '../webhooks/endpoint-concurrency.js';
import type { AttemptDependencies } from '../webhooks/make-attempt.js';
import type { InFlightLimit } from '../workflow-starts/in-flight-limit.js';
import { readOwnerStart } from '../workflow-starts/read-pending.js';
import { startPending } from '../workflow-starts/start-pending.js';

/** Retries that wait for a slot in an activity, of the 200 below, and for how long, ms. */
const RETRIES_WAIT = { patience: 1_000, perEndpoint: 10, total: 60 };
/**
 * A small cache is enough: a cached workflow takes 140 KB, and reading a short history again is cheap (design,
 * Temporal).
 */
const SLOTS = { cachedWorkflows: 300, workflowTasksAtOnce: 40, activitiesAtOnce: 200 };

export interface DeliveryQueueDependencies {
  config: Config;
  attempts: AttemptDependencies;
  metrics: Metrics;
  slots: AttemptSlots<unknown>;
  shares: Pick<SharedSlots, 'take'>;
  inFlight: InFlightLimit;
  temporal: () => TemporalWorker['client'];
}

/** The task queue of deliveries, recovers and the removal of what has expired. */
export function deliveryQueue(dependencies: DeliveryQueueDependencies): ServedQueue {
  const { config, attempts, metrics, slots, shares, inFlight, temporal } = dependencies;
  const { retryDelays } = config;
  const { database, log } = attempts;
  const limits = new EndpointLimits(database, config.endpointConcurrency);
  const retries = new WaitingRetries({ slots, ...RETRIES_WAIT });
  return {
    taskQueue: TASK_QUEUE,
    activities: {
      ...createActivities({
        ...attempts,
        acquireSlot: async (clientId, endpointId) => {
          const max = await limits.of(endpointId);
          if (slots.tryAcquire(clientId, endpointId, max)) return true;
          await shares.take(clientId, endpointId, max);
          return retries.acquire(clientId, endpointId, max);
        },
        releaseSlot: (clientId, endpointId) => slots.release(clientId, endpointId),
        inFlight,
        startOwner: async (deliveryId) => {
          const start = await readOwnerStart(database, retryDelays, deliveryId);
          const connected = temporal();
          if (!connected) throw new Error('Temporal is away');
          if (start) await startPending(connected.client, [start], 'restart');
        },
      }),
      ...createRecoverActivities({ database, temporal, retryDelays, metrics }),
      ...createRemoveExpiredActivities({ database, retention: config.retention, log }),
    },
    ...SLOTS,
  };
}
