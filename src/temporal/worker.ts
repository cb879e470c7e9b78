import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import {
  DefaultLogger,
  type LogEntry,
  NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import type { Config } from '../platform/config/config.js';
import { freePort } from '../platform/free-port.js';
import type { Log } from '../platform/telemetry/log.js';
import { connectionOptions, isNamespaceMissing, whyUnreachable } from './connection.js';

const RECONNECT_FIRST = 500;
const RECONNECT_LONGEST = 5_000;
/** An attempt in flight takes up to 16 s to end. */
const GRACE = '20s';

export interface TemporalWorkerOptions {
  temporal: Config['temporal'];
  /** A task queue and what it may use. The tasks of one queue never take the slots of another. */
  queue: Pick<WorkerOptions, 'taskQueue' | 'activities' | 'maxCachedWorkflows'> &
    Pick<WorkerOptions, 'maxConcurrentWorkflowTaskExecutions' | 'maxConcurrentActivityTaskExecutions'>;
  /** Called after each connection, because work may have waited for it. */
  onConnected?: () => void;
  /** Whether the SDK has metrics, for `readSdkMetrics`. */
  measured: boolean;
  log: Log;
}

/**
 * The worker of a task queue, and the client on the same connection. Temporal may be unavailable at the start or at
 * any time: the worker connects again until it is stopped.
 */
export class TemporalWorker {
  /** The client of this connection; undefined while Temporal is unavailable. */
  client: Client | undefined;
  wasConnected = false;
  #worker: Worker | undefined;
  #loop: Promise<void> | undefined;
  readonly #stop = new AbortController();

  constructor(private readonly options: TemporalWorkerOptions) {}

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
    let said = '';
    while (!this.#stop.signal.aborted) {
      let connection: NativeConnection | undefined;
      try {
        connection = await NativeConnection.connect(connectionOptions(temporal));
        await this.#serve(connection);
        delay = RECONNECT_FIRST;
      } catch (error) {
        if (this.client) [delay, said] = [RECONNECT_FIRST, ''];
        const isMissing = isNamespaceMissing(error);
        const reason = isMissing
          ? `Temporal has no namespace ${temporal.namespace}; run transfer-service migrate`
          : `Temporal is unavailable: ${await whyUnreachable(temporal)}`;
        // Each reason is logged once: Temporal may be unavailable for hours. A Temporal that is still starting is no
        // fault.
        const level = reason === said ? 'debug' : this.wasConnected || isMissing ? 'warn' : 'info';
        const fields = { task_queue: queue.taskQueue, ...(level !== 'info' && { err: error }) };
        log[level](fields, `${reason}; next try in ${delay} ms`);
        said = reason;
        delay = Math.min(delay * 2, RECONNECT_LONGEST);
      } finally {
        this.client = undefined;
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
    const worker = await Worker.create({
      connection,
      namespace,
      ...queue,
      workflowBundle: WORKFLOW_BUNDLE,
      workflowTaskPollerBehavior: { type: 'autoscaling' },
      activityTaskPollerBehavior: { type: 'autoscaling' },
      shutdownGraceTime: GRACE,
    });
    if (this.#stop.signal.aborted) {
      // A worker holds the connection until it has run and ended.
      await worker.runUntil(Promise.resolve());
      return;
    }
    this.#worker = worker;
    this.client = new Client({ connection, namespace });
    this.wasConnected = true;
    log.info({ address, namespace, task_queue: queue.taskQueue }, 'connected to Temporal');
    this.options.onConnected?.();
    await worker.run();
  }
}

/** The build makes it. */
const WORKFLOW_BUNDLE = { codePath: fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url)) };

let installed: Promise<void> | undefined;
let sdkMetrics: string | undefined;

/** A scrape continues without the SDK's metrics after this, ms. */
const LIMIT = 1_000;

/**
 * Installs the SDK's runtime, once in a process. It writes to our log and leaves signals to us; by default the SDK ends
 * the worker at a signal.
 * @param measured whether the SDK serves its metrics at a port of 127.0.0.1, the only way that the SDK offers to read
 * them
 */
export function installRuntime(log: Log, measured: boolean): Promise<void> {
  installed ??= install(log, measured);
  return installed;
}

/** The SDK's metrics in Prometheus's text format. Empty when it has none or does not respond. */
export async function readSdkMetrics(): Promise<string> {
  if (sdkMetrics === undefined) return '';
  try {
    const response = await fetch(sdkMetrics, { signal: AbortSignal.timeout(LIMIT) });
    return response.ok ? await response.text() : '';
  } catch {
    return '';
  }
}

async function install(log: Log, measured: boolean): Promise<void> {
  const bindAddress = measured ? `127.0.0.1:${await freePort()}` : undefined;
  Runtime.install({
    shutdownSignals: [],
    telemetryOptions: {
      // Without this the SDK's native part writes to standard output, which is for the line `ready` alone.
      logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } },
      ...(bindAddress && {
        metrics: {
          prometheus: { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true },
          attachServiceName: false,
        },
      }),
    },
    logger: new DefaultLogger('TRACE', (entry) => write(log, entry)),
  });
  sdkMetrics = bindAddress && `http://${bindAddress}/metrics`;
}

/** The SDK's warnings and errors keep their level. Its other lines become debug lines. */
function write(log: Log, { level, message, meta }: LogEntry): void {
  const { error, ...fields } = meta ?? {};
  const line = { ...fields, ...(error !== undefined && { err: error }), sdk: true };
  if (level === 'ERROR') log.error(line, message);
  else if (level === 'WARN') log.warn(line, message);
  else log.debug(line, message);
}
