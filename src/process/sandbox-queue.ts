import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import type { ServedQueue } from '../temporal/worker.js';

/** The task queue of the sandbox's own workflows, with few slots of its own. Production has none. */
export function sandboxQueue(activities: object): ServedQueue {
  return {
    taskQueue: SANDBOX_TASK_QUEUE,
    activities,
    cachedWorkflows: 20,
    workflowTasksAtOnce: 5,
    activitiesAtOnce: 10,
  };
}
