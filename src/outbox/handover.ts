import type { EventRow } from './event-row.js';

/** One delivery of a committed event, with the data that attempt 1 needs. */
export interface FreshDelivery {
  deliveryId: string;
  endpointId: string;
  url: string;
  secretEnvelope: string;
  /** Attempts at once at its endpoint, over all workers; null: ENDPOINT_CONCURRENCY. */
  maxConcurrency: number | null;
}

/** An event that has been committed and whose first attempts are due. */
export interface CommittedEvent extends EventRow {
  /** The delays that its deliveries started with, ms; null: their rows do not say. */
  ladder: readonly number[] | null;
  deliveries: readonly FreshDelivery[];
  /** Its other pending deliveries. The workflow makes their next attempts. */
  retries: number;
}

/** Passes the events that a process commits to an express lane, of this process or of a worker. */
export interface Handover {
  /**
   * Whether the insert itself leases the event to the lane of this process. False: the event stays free, and a worker
   * elsewhere takes it.
   */
  readonly leases: boolean;
  /** The ladder with which the deliveries of this process's events start, ms. Each keeps it. */
  readonly retryDelays: readonly number[];
  /** Called after the commit, never before. It must not throw and must not wait. */
  committed(event: CommittedEvent): void;
}
