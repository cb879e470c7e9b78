import { WorkflowNotFoundError } from '@temporalio/client';
import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import type { Log } from '../telemetry/log.js';
import { startDeliverEvent } from '../temporal/start-deliver-event.js';
import type { LeasedEvent } from './events.js';
import { readStarts } from './read-starts.js';
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
    const { db, temporal, retryDelays, log } = this.options;
    const connected = temporal();
    if (!connected) return 0;
    let started = 0;
    try {
      const overdue = await db.query<LeasedEvent>(OVERDUE, [OVERDUE_MINUTES, BATCH]);
      for (const { event, input } of await readStarts(db, overdue, retryDelays)) {
        if (await this.#runs(event.eventId)) continue;
        await startDeliverEvent(connected.client, input, { ...event, eager: false, reuse: 'restart' });
        log.warn({ event_id: event.eventId }, 'an overdue event had no running workflow: started again');
        started++;
      }
    } catch (error) {
      log[isUnreachable(error) ? 'warn' : 'error']({ err: error }, 'reconcile failed; tried again in a minute');
    }
    return started;
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

const OVERDUE = `
select v.id as "eventId", v.client_id as "clientId", v.transfer_id as "transferId", v.type, v.body
  from events v
 where v.outbox = 'done' and v.id in (
   select d.event_id from deliveries d
    where d.status = 'pending' and d.owner is null and d.next_attempt_at < now() - $1::int * interval '1 minute'
    order by random() limit $2::int)`;
