import type { WorkflowMode } from '../config.js';
import type { CommittedEvent, FreshDelivery } from '../outbox/handover.js';
import type { Settlement } from '../webhooks/record.js';

/** A first attempt that waits for its slot. */
export interface LaneJob {
  event: LaneEvent;
  delivery: FreshDelivery;
}

/** An event in the lane: it counts the first attempts that are open, and decides what follows when none is. */
export class LaneEvent {
  readonly jobs: readonly LaneJob[];
  /** First attempts that are not over yet. */
  #open: number;
  /** Deliveries whose next attempt the workflow makes. */
  #handedOver = 0;
  #attempted = false;
  #returned = false;

  constructor(
    readonly event: CommittedEvent,
    /** When the lease began or, for an event of this process, was committed; by `performance.now()`. */
    readonly leasedAt: number,
    private readonly workflows: WorkflowMode,
  ) {
    this.#open = event.deliveries.length;
    this.jobs = event.deliveries.map((delivery) => ({ event: this, delivery }));
  }

  /** A first attempt was made. */
  made(succeeded: boolean): void {
    this.#attempted = true;
    this.#end(succeeded);
  }

  /** A first attempt is not made here. The workflow makes it. */
  handOver(): void {
    this.#end(false);
  }

  /** A first attempt is not made here. The worker that takes the event next makes it. */
  returnToQueue(): void {
    this.#open--;
    this.#returned = true;
  }

  /** Whether a first attempt was made, which may not be recorded yet. */
  get isAttempted(): boolean {
    return this.#attempted;
  }

  get isOver(): boolean {
    return this.#open === 0;
  }

  /** The event's next state in the outbox, written with its last first attempt; undefined while others are open. */
  get settlement(): Settlement | undefined {
    if (!this.isOver) return undefined;
    const { eventId } = this.event;
    if (this.#returned) return { eventId, outbox: 'attempt', held: false };
    if (!this.#hasWorkflow) return { eventId, outbox: 'done', held: false };
    return this.#handedOver > 0
      ? { eventId, outbox: 'start', held: true }
      : { eventId, outbox: 'trailing', held: false };
  }

  /** The number of attempts that the workflow makes at once; undefined where this process starts no workflow. */
  get attemptsLeft(): number | undefined {
    return this.#returned || !this.#hasWorkflow ? undefined : this.#handedOver;
  }

  #end(succeeded: boolean): void {
    this.#open--;
    if (!succeeded) this.#handedOver++;
  }

  get #hasWorkflow(): boolean {
    return this.#handedOver > 0 || this.workflows === 'every-event';
  }
}
