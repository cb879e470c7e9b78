import { WorkflowNotFoundError } from '@temporalio/client';
import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import type { Log } from '../telemetry/log.js';
import { startDeliverEvent } from '../temporal/start-deliver-event.js';
import type { LeasedEvent } from './events.js';
import { readRecoveredStarts, readStarts, type WorkflowStart } from './read-starts.js';
import type { WorkflowStarterOptions } from './workflow-starter.js';

const INTERVAL = 60_000;
/** A delivery this far behind its plan has no workflow, or one that cannot get on, minutes. */
const OVERDUE_MINUTES = 10;
const BATCH = 100;

export interface ReconcileOptions {
  db: Handle;
  temporal: WorkflowStarterOptions['temporal'];
  retryDelays: readonly number[];
  log: Log;
}

/**
 * Starts the workflow again of deliveries that are pending and long overdue with none running: it was terminated by hand,
 * or Temporal lost its store. The claim makes a second one harmless.
 */
export class Reconcile {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<number> | undefined;

  constructor(private readonly options: ReconcileOptions) {}

  start(): void {
    this.#timer = setInterval(() => {
      this.#running ??= this.now().finally(() => {
        this.#running = undefined;
      });
    }, INTERVAL);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** One pass; answers how many workflows it started. */
  async now(): Promise<number> {
    const { temporal, log } = this.options;
    const connected = temporal();
    if (!connected) return 0;
    let started = 0;
    try {
      for (const start of await this.#overdue()) {
        if (await this.#runs(start.workflowId)) continue;
        await startDeliverEvent(connected.client, start, { eager: false, reuse: 'restart' });
        log.warn({ workflow_id: start.workflowId }, 'an overdue delivery had no running workflow: started again');
        started++;
      }
    } catch (error) {
      log[isUnreachable(error) ? 'warn' : 'error']({ err: error }, 'reconcile failed; tried again in a minute');
    }
    return started;
  }

  async #overdue(): Promise<WorkflowStart[]> {
    const { db, retryDelays } = this.options;
    const events = await db.query<LeasedEvent>(OVERDUE_EVENTS, [OVERDUE_MINUTES, BATCH]);
    const recovered = await db.query<{ id: string }>(OVERDUE_RECOVERED, [OVERDUE_MINUTES, BATCH]);
    const ids = recovered.map(({ id }) => id);
    return [...(await readStarts(db, events, retryDelays)), ...(await readRecoveredStarts(db, ids, retryDelays))];
  }

  async #runs(workflowId: string): Promise<boolean> {
    try {
      const description = await this.options.temporal()?.client.workflow.getHandle(workflowId).describe();
      return description?.status.name === 'RUNNING';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }
}

const OVERDUE = `d.status = 'pending' and d.next_attempt_at < now() - $1::int * interval '1 minute'`;

const OVERDUE_EVENTS = `
select v.id as "eventId", v.client_id as "clientId", v.transfer_id as "transferId", v.type, v.body, v.traceparent
  from events v
 where v.outbox = 'done' and v.id in (
   select d.event_id from deliveries d where ${OVERDUE} and d.owner is null order by random() limit $2::int)`;

const OVERDUE_RECOVERED = `
select d.id from deliveries d where ${OVERDUE} and d.owner is not null order by random() limit $2::int`;
