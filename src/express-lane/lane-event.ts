import type { WorkflowMode } from '../config.js';
import type { CommittedEvent, FreshDelivery } from '../outbox/handover.js';
import type { Settlement } from '../webhooks/record.js';

/** A first attempt that waits for its place. */
export interface LaneJob {
  event: LaneEvent;
  delivery: FreshDelivery;
}

/** An event in the lane: how many of its first attempts are not over yet, and what follows when they are. */
export class LaneEvent {
  readonly jobs: readonly LaneJob[];
  /** First attempts not over yet. */
  #open: number;
  /** Deliveries that need another attempt, which is the workflow's. */
  #left = 0;
  #returned = false;

  constructor(
    readonly event: CommittedEvent,
    /** ms */
    readonly claimedAt: number,
    private readonly workflows: WorkflowMode,
  ) {
    this.#open = event.deliveries.length;
    this.jobs = event.deliveries.map((delivery) => ({ event: this, delivery }));
  }

  /** A first attempt was made. */
  made(succeeded: boolean): void {
    this.#open--;
    if (!succeeded) this.#left++;
  }

  /** A first attempt is not made here: it is the workflow's. */
  handOver(): void {
    this.made(false);
  }

  /** A first attempt is not made here: whoever takes the event next makes it. */
  returnToQueue(): void {
    this.#open--;
    this.#returned = true;
  }

  get isOver(): boolean {
    return this.#open === 0;
  }

  /** What to write about the event with its last first attempt; undefined while others are open. */
  get settlement(): Settlement | undefined {
    if (!this.isOver) return undefined;
    const { eventId } = this.event;
    if (this.#returned) return { eventId, outbox: 'attempt', held: false };
    if (!this.#hasWorkflow) return { eventId, outbox: 'done', held: false };
    return { eventId, outbox: 'start', held: this.#left > 0 };
  }

  /** How many attempts its workflow is to make at once; undefined where none is to be started from here. */
  get attemptsLeft(): number | undefined {
    return this.#returned || !this.#hasWorkflow ? undefined : this.#left;
  }

  get #hasWorkflow(): boolean {
    return this.#left > 0 || this.workflows === 'every-event';
  }
}
