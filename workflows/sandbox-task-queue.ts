/**
 * The task queue of the sandbox's own workflows. Its worker has few slots of its own, so that a flood of them delays no
 * delivery. Production has no such worker.
 */
export const SANDBOX_TASK_QUEUE = 'sandbox';
