import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import { ClientId, TransferId, WebhookIds } from '../../workflows/search-attributes.js';
import type { Handle } from '../database/database.js';
import { reportTo } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import { Periodic } from '../periodic.js';
import type { Log } from '../telemetry/log.js';
import { isRefusedInput } from '../temporal/connection.js';
import { type LeasedStart, leaseStarts, markStarted, releaseStart } from './workflow-starts.js';

/** Rows leased at once. */
const BATCH = 5;
/** After so many seconds, a row that a process leased and did not start is free again. */
const LEASE_SECONDS = 30;
/** Temporal may take this long for a start, ms. */
const TIME_LIMIT = 10_000;
/**
 * The rest after each start, as a multiple of the time that the start took: the slower Temporal is, the fewer starts it
 * gets. A flood waits in Postgres, because in Temporal its tasks would take the server's time from deliveries.
 */
const REST = 4;
/** Shortest and longest rest, ms. The longest also applies during a burst of first attempts. */
const [SHORTEST_REST, LONGEST_REST] = [40, 1_000];
/** A row whose workflow could not be started is due again after so many seconds; one that Temporal rejects, after the second. */
const [RETRY_AFTER, REJECTED_AFTER] = [1, 60];
/**
 * A workflow that runs already when its row is started for the first time may be the one of an earlier row, such as the
 * last recovery of the endpoint, about to end. It is looked at again after so many seconds.
 */
const LOOK_AGAIN_AFTER = 10;

export interface WorkflowOutboxOptions {
  db: Handle;
  /** Undefined while Temporal is unavailable. */
  temporal: () => { client: Client } | undefined;
  /** Whether first attempts come in a burst. */
  busy: () => boolean;
  /** Asked at each poll: whether rows are due. */
  waiting: () => Promise<{ workflows: boolean }>;
  /** Ends what is too late to start. Runs before each lease, also while Temporal is unavailable. */
  endLate?: () => Promise<void>;
  /** The table is read this often, ms. */
  interval: number;
  log: Log;
}

/** Starts the workflows of `workflow_starts`, and starts those again that have stopped renewing their rows. */
export class WorkflowOutbox {
  readonly #loop: Periodic;

  constructor(private readonly options: WorkflowOutboxOptions) {
    this.#loop = new Periodic({
      interval: options.interval,
      onInterval: () => void this.#poll(),
      run: async () => {
        await options.endLate?.();
        while (await this.#startBatch());
      },
      onFault: reportTo(options.log, 'starting workflows failed; next try at the next poll'),
    });
  }

  start(): void {
    this.#loop.start();
    void this.#poll();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #poll(): Promise<void> {
    const { workflows } = await this.options.waiting();
    if (workflows) this.#loop.request();
  }

  /** Starts one workflow after the other. @returns whether the table may have more */
  async #startBatch(): Promise<boolean> {
    const { db, temporal, busy } = this.options;
    if (!temporal() || this.#loop.stopped) return false;
    const due = await leaseStarts(db, BATCH, LEASE_SECONDS);
    let goesOn = true;
    for (const start of due) {
      // The process is about to end, or Temporal is unavailable: any worker may take the rest.
      if (!goesOn || this.#loop.stopped) {
        await releaseStart(db, start, 0);
        goesOn = false;
        continue;
      }
      const since = performance.now();
      goesOn = await this.#startOne(start);
      const rest = busy() ? LONGEST_REST : REST * (performance.now() - since);
      await sleep(Math.min(Math.max(SHORTEST_REST, rest), LONGEST_REST));
    }
    return due.length === BATCH && goesOn;
  }

  /** @returns false if Temporal may take no other start either */
  async #startOne(start: LeasedStart): Promise<boolean> {
    const { db, temporal, log } = this.options;
    const connected = temporal();
    if (!connected) {
      await releaseStart(db, start, 0);
      return false;
    }
    try {
      const started = await startWorkflow(connected.client, start);
      failpoint('after-workflow-start');
      await markStarted(db, start, started || start.restart ? undefined : LOOK_AGAIN_AFTER);
      return true;
    } catch (error) {
      const rejected = isRefusedInput(error);
      log.warn({ err: error, workflow_id: start.workflowId }, 'a workflow could not be started; next try soon');
      await releaseStart(db, start, rejected ? REJECTED_AFTER : RETRY_AFTER);
      return rejected;
    }
  }
}

/** @returns false if a workflow of this id runs already */
async function startWorkflow(client: Client, start: LeasedStart): Promise<boolean> {
  const { workflowId, type, taskQueue, clientId, input, summary, endpointId, transferId } = start;
  const attributes: SearchAttributePair[] = [
    { key: ClientId, value: clientId },
    ...(endpointId === null ? [] : [{ key: WebhookIds, value: [endpointId] }]),
    ...(transferId === null ? [] : [{ key: TransferId, value: transferId }]),
  ];
  try {
    await client.connection.withDeadline(Date.now() + TIME_LIMIT, () =>
      client.workflow.start(type, {
        workflowId,
        taskQueue,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        args: [input],
        priority: { fairnessKey: clientId },
        staticSummary: summary,
        typedSearchAttributes: attributes,
      }),
    );
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}
