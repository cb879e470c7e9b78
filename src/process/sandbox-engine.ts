import { type CheckDependencies, createCheckActivities } from '../../activities/check-receiver.js';
import {
  createSandboxTransferActivities,
  type SandboxTransferDependencies,
} from '../../activities/sandbox-transfer.js';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import { endUnstartedChecks } from '../checks/checks.js';
import { COUNTED } from '../delivery/backlog.js';
import type { Waiting } from '../delivery/waiting.js';
import type { Config } from '../platform/config/config.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import { TemporalWorker } from '../temporal/worker.js';
import { measureSandboxTransfers } from '../transfers/sandbox.js';

/**
 * The first step of a transfer counts from its creation, so a start within SANDBOX_STEP delays no step, and no notification
 * is needed. Only the first step in a process may be late, by the time in which its worker of the sandbox queue starts.
 */
const [SHORTEST_INTERVAL, LONGEST_INTERVAL] = [500, 1_000];

/**
 * Assembles the part of a worker process that only a sandbox has: automatic steps of transfers, and checks of receivers.
 * Their task queue has few slots of its own. Its Temporal worker takes some 37 MiB, so it starts only with the first
 * transfer of the environment that moves by itself, or the first check.
 */
export function createSandboxEngine(
  config: Config,
  dependencies: CheckDependencies &
    SandboxTransferDependencies & {
      waiting: () => Promise<Waiting>;
      metrics: Pick<Metrics, 'registry' | 'receiverChecked'>;
      log: Log;
    },
) {
  const { database, metrics, log } = dependencies;
  const worker = new TemporalWorker({
    temporal: config.temporal,
    queue: {
      taskQueue: SANDBOX_TASK_QUEUE,
      activities: {
        ...createCheckActivities(dependencies),
        ...createSandboxTransferActivities(dependencies),
      },
      cachedWorkflows: 20,
      workflowTasksAtOnce: 2,
      // Only checks have regular activities: a client has at most two in flight (LIMITS.checksAtOnce).
      activitiesAtOnce: 10,
    },
    measured: config.metrics !== undefined,
    log,
  });
  measureSandboxTransfers(metrics.registry, database, COUNTED);
  return {
    /** The options by which the workflow outbox of a sandbox differs. */
    outbox: {
      interval: Math.min(LONGEST_INTERVAL, Math.max(SHORTEST_INTERVAL, config.sandboxStep / 2)),
      /** Reads what waits, and serves the sandbox queue once it may have a task. */
      async waiting(): Promise<Waiting> {
        const found = await dependencies.waiting();
        if (found.sandboxUsed) worker.start();
        return found;
      },
      /** Ends the checks that are too late to start. */
      async endLate(): Promise<void> {
        const ended = await endUnstartedChecks(database, null);
        for (let i = 0; i < ended; i++) metrics.receiverChecked('failed');
      },
    },
    /** Takes no new task and finishes the running ones. */
    stop: (): Promise<void> => worker.stop(),
  };
}
