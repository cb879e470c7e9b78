import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { type NativeConnection, Worker } from '@temporalio/worker';
import type { Config } from '../config.js';
import type { Log } from '../telemetry/log.js';
import { connectWorker, isNamespaceMissing } from './connection.js';
import { installRuntime } from './runtime.js';
import { whyUnreachable } from './why-unreachable.js';

const RECONNECT_FIRST = 500;
const RECONNECT_LONGEST = 10_000;
/** An attempt under way takes up to 16 s to end. */
const GRACE = '20s';

/** A task queue and what it may use. The tasks of one queue never take the slots of another. */
export interface ServedQueue {
  taskQueue: string;
  activities: object;
  cachedWorkflows: number;
  workflowTasksAtOnce: number;
  activitiesAtOnce: number;
}

export interface TemporalWorkerOptions {
  temporal: Config['temporal'];
  queue: ServedQueue;
  /** Whether the SDK has metrics, for `readSdkMetrics`. */
  measured: boolean;
  log: Log;
}

/**
 * The worker of a task queue, and the client on the same connection. Temporal may be away at the start or at any time:
 * the worker connects again until it is stopped.
 */
export class TemporalWorker {
  #connected: { client: Client; eager: boolean } | undefined;
  #worker: Worker | undefined;
  #loop: Promise<void> | undefined;
  readonly #stop = new AbortController();
  #onConnected: () => void = () => {};

  constructor(private readonly options: TemporalWorkerOptions) {}

  /** A client whose starts run their first task in this process; undefined while Temporal is away. */
  get client(): { client: Client; eager: boolean } | undefined {
    return this.#connected;
  }

  /** The listener is called after each connection, because work may have waited for it. */
  onConnected(listener: () => void): void {
    this.#onConnected = listener;
  }

  /** A second call changes nothing. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Ends the worker: it takes no new tasks and finishes the running ones, within 20 s. */
  async stop(): Promise<void> {
    this.#stop.abort();
    if (this.#worker?.getState() === 'RUNNING') this.#worker.shutdown();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { measured, log, queue, temporal } = this.options;
    await installRuntime(log, measured);
    let delay = RECONNECT_FIRST;
    while (!this.#stop.signal.aborted) {
      let connection: NativeConnection | undefined;
      try {
        connection = await connectWorker(temporal);
        await this.#serve(connection);
        delay = RECONNECT_FIRST;
      } catch (error) {
        const reason = isNamespaceMissing(error)
          ? `Temporal has no namespace ${temporal.namespace}; run transfer-service migrate`
          : `Temporal is away: ${await whyUnreachable(temporal)}`;
        log.warn({ err: error, task_queue: queue.taskQueue }, `${reason}; next try in ${delay} ms`);
        delay = Math.min(delay * 2, RECONNECT_LONGEST);
      } finally {
        this.#connected = undefined;
        this.#worker = undefined;
        await connection?.close().catch(() => undefined);
      }
      await sleep(delay, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  async #serve(connection: NativeConnection): Promise<void> {
    const { queue, temporal, log } = this.options;
    const { address, namespace } = temporal;
    // Checked first: the error of the worker's own check does not say that the namespace is missing.
    await connection.workflowService.describeNamespace({ namespace });
    const worker = await createWorker(connection, namespace, queue);
    if (this.#stop.signal.aborted) {
      // A worker holds the connection until it has run and ended.
      await worker.runUntil(Promise.resolve());
      return;
    }
    this.#worker = worker;
    this.#connected = { client: new Client({ connection, namespace }), eager: true };
    log.info({ address, namespace, task_queue: queue.taskQueue }, 'connected to Temporal');
    this.#onConnected();
    await worker.run();
  }
}

function createWorker(connection: NativeConnection, namespace: string, queue: ServedQueue): Promise<Worker> {
  return Worker.create({
    connection,
    namespace,
    taskQueue: queue.taskQueue,
    activities: queue.activities,
    ...workflowCode(),
    maxCachedWorkflows: queue.cachedWorkflows,
    maxConcurrentWorkflowTaskExecutions: queue.workflowTasksAtOnce,
    maxConcurrentActivityTaskExecutions: queue.activitiesAtOnce,
    workflowTaskPollerBehavior: { type: 'autoscaling' },
    activityTaskPollerBehavior: { type: 'autoscaling' },
    shutdownGraceTime: GRACE,
  });
}

/** The workflow bundle that the build makes. From sources (tests) the worker bundles the workflows itself. */
function workflowCode(): { workflowBundle: { codePath: string } } | { workflowsPath: string } {
  const bundle = fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));
  if (existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  return { workflowsPath: fileURLToPath(new URL('../../workflows/index.js', import.meta.url)) };
}
