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
  /** The deliveries whose first attempts have begun and are not over yet, by id. */
  readonly #underWay = new Set<string>();
  /** The workflow has the event, while attempts are under way here. */
  #isHandedOver = false;
  /** Deliveries whose next attempt the workflow makes. */
  #handedOver: number;
  #attempted = false;
  #returned = false;

  constructor(
    readonly event: CommittedEvent,
    /** When the lease began or, for an event of this process, was committed; by `performance.now()`. */
    readonly leasedAt: number,
    private readonly workflows: WorkflowMode,
  ) {
    this.#open = event.deliveries.length;
    this.#handedOver = event.retries;
    this.jobs = event.deliveries.map((delivery) => ({ event: this, delivery }));
  }

  /** A first attempt begins. */
  begin({ deliveryId }: FreshDelivery): void {
    this.#underWay.add(deliveryId);
  }

  /** A first attempt was made. */
  made({ deliveryId }: FreshDelivery, succeeded: boolean): void {
    this.#attempted = true;
    this.#end(deliveryId, succeeded);
  }

  /** A first attempt is not made here. The workflow makes it. */
  handOver({ deliveryId }: FreshDelivery): void {
    this.#end(deliveryId, false);
  }

  /** The deliveries whose first attempts are under way, by id. */
  get underWay(): readonly string[] {
    return [...this.#underWay];
  }

  /** Whether first attempts are open, and all of them are under way. */
  get isAllUnderWay(): boolean {
    return this.isOpen && !this.#returned && this.#underWay.size === this.#open;
  }

  /** Hands the whole event over. The attempts that are under way end here, and settle nothing. */
  handOverAll(): Settlement {
    this.#isHandedOver = true;
    this.#handedOver += this.#underWay.size;
    return { eventId: this.event.eventId, outbox: 'start', held: true };
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

  /** Whether first attempts are open and the workflow does not have the event. */
  get isOpen(): boolean {
    return this.#open > 0 && !this.#isHandedOver;
  }

  /** Whether the event is settled with the first attempt that ended last. */
  get isOver(): boolean {
    return this.#open === 0 && !this.#isHandedOver;
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

  /**
   * The number of attempts that the workflow makes or asks for at once; undefined where this process starts no workflow.
   */
  get attemptsLeft(): number | undefined {
    return this.#returned || !this.#hasWorkflow ? undefined : this.#handedOver;
  }

  #end(deliveryId: string, succeeded: boolean): void {
    this.#underWay.delete(deliveryId);
    this.#open--;
    if (!succeeded && !this.#isHandedOver) this.#handedOver++;
  }

  get #hasWorkflow(): boolean {
    return this.#handedOver > 0 || this.workflows === 'every-event';
  }
}
