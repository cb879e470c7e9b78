import type { Config } from '../config.js';
import { COUNTED } from '../outbox/backlog.js';
import type { Metrics } from '../telemetry/metrics.js';
import { TemporalWorker } from '../temporal/worker.js';
import { measureSandboxTransfers } from '../workflow-starts/sandbox-gauges.js';
import { countSandboxTransfers } from '../workflow-starts/sandbox-outbox.js';
import { SandboxStarter, type SandboxStarterOptions } from '../workflow-starts/sandbox-starter.js';
import { type SandboxDependencies, sandboxQueue } from './sandbox-queue.js';

/** The part of a worker process that only a sandbox has: automatic steps of transfers, and checks of receivers. */
export interface SandboxEngine {
  start(): void;
  /** Starts no further workflow of a transfer. */
  stopStarts(): Promise<void>;
  /** Takes no new task and finishes the running ones. */
  stop(): Promise<void>;
}

/**
 * Assembles the starter of transfers that move by themselves and the Temporal worker of the sandbox queue. The worker
 * takes some 37 MiB, so it starts only with the first such transfer or check of the environment.
 */
export function createSandboxEngine(
  config: Config,
  dependencies: SandboxDependencies &
    Pick<SandboxStarterOptions, 'temporal' | 'busy' | 'waiting' | 'log'> & { metrics: Pick<Metrics, 'registry'> },
): SandboxEngine {
  const { database, metrics, temporal, busy, waiting, log } = dependencies;
  const worker = new TemporalWorker({
    temporal: config.temporal,
    queue: sandboxQueue(dependencies),
    measured: config.metrics !== undefined,
    log,
  });
  const starter = new SandboxStarter({
    db: database,
    temporal,
    stepDelay: config.sandboxStep,
    busy,
    waiting,
    onUsed: () => worker.start(),
    log,
  });
  measureSandboxTransfers(metrics.registry, () => countSandboxTransfers(database, COUNTED), COUNTED);
  return {
    start: () => starter.start(),
    stopStarts: () => starter.stop(),
    stop: () => worker.stop(),
  };
}
