import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { type NativeConnection, Worker } from '@temporalio/worker';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import type { Config } from '../config.js';
import type { Log } from '../telemetry/log.js';
import { connectWorker, isNamespaceMissing } from './connection.js';
import { installRuntime } from './runtime.js';

const RECONNECT_FIRST = 500;
const RECONNECT_LONGEST = 10_000;
/**
 * A small cache is enough: a cached workflow takes 140 KB, and reading a short history again is cheap (design,
 * Temporal).
 */
const CACHED_WORKFLOWS = 300;
const ACTIVITIES_AT_ONCE = 200;
/** An attempt under way takes up to 16 s to end. */
const GRACE = '20s';

export interface TemporalWorkerOptions {
  temporal: Config['temporal'];
  activities: object;
  /** Whether the SDK has metrics, for `readSdkMetrics`. */
  measured: boolean;
  log: Log;
}

/**
 * The worker of the task queue, and the client on the same connection. Temporal may be away at the start or at any
 * time: the worker connects again until it is stopped.
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

  start(): void {
    this.#loop = this.#run();
  }

  /** Ends the worker: it takes no new tasks and finishes the running ones, within 20 s. */
  async stop(): Promise<void> {
    this.#stop.abort();
    if (this.#worker?.getState() === 'RUNNING') this.#worker.shutdown();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { measured, log, temporal } = this.options;
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
          : 'Temporal is away';
        log.warn({ err: error }, `${reason}; next try in ${delay} ms`);
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
    const { namespace } = this.options.temporal;
    // Checked first: the error of the worker's own check does not say that the namespace is missing.
    await connection.workflowService.describeNamespace({ namespace });
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue: TASK_QUEUE,
      activities: this.options.activities,
      ...workflowCode(),
      maxCachedWorkflows: CACHED_WORKFLOWS,
      maxConcurrentActivityTaskExecutions: ACTIVITIES_AT_ONCE,
      workflowTaskPollerBehavior: { type: 'autoscaling' },
      activityTaskPollerBehavior: { type: 'autoscaling' },
      shutdownGraceTime: GRACE,
    });
    if (this.#stop.signal.aborted) {
      await worker.runUntil(Promise.resolve());
      return;
    }
    this.#worker = worker;
    this.#connected = { client: new Client({ connection, namespace }), eager: true };
    this.options.log.info({ address: this.options.temporal.address, namespace }, 'connected to Temporal');
    this.#onConnected();
    await worker.run();
  }
}

/** The workflow bundle that the build makes. From sources (tests) the worker bundles the workflows itself. */
function workflowCode(): { workflowBundle: { codePath: string } } | { workflowsPath: string } {
  const bundle = fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));
  if (existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  return { workflowsPath: fileURLToPath(new URL('../../workflows/index.js', import.meta.url)) };
}
