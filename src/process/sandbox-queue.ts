import { type CheckDependencies, createCheckActivities } from '../../activities/check-receiver.js';
import {
  createSandboxTransferActivities,
  type SandboxTransferDependencies,
} from '../../activities/sandbox-transfer.js';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import { AttemptSlots } from '../express-lane/attempt-slots.js';
import type { ServedQueue } from '../temporal/worker.js';

/** Requests of checks at once. They leave slots to the other workflows of the sandbox. */
const CHECKS_AT_ONCE = { perEndpoint: 1, perClient: 3, total: 6 };

export type SandboxDependencies = Omit<CheckDependencies, 'slots'> & SandboxTransferDependencies;

/** The task queue of the sandbox's own workflows, with few slots of its own. Production has none. */
export function sandboxQueue(dependencies: SandboxDependencies): ServedQueue {
  const slots = new AttemptSlots<never>(CHECKS_AT_ONCE);
  return {
    taskQueue: SANDBOX_TASK_QUEUE,
    activities: {
      ...createCheckActivities({ ...dependencies, slots }),
      ...createSandboxTransferActivities(dependencies),
    },
    cachedWorkflows: 20,
    workflowTasksAtOnce: 2,
    activitiesAtOnce: 10,
  };
}
