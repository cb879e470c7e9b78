import type { EventRow } from './event-row.js';

/** One delivery of a committed event, with the data that attempt 1 needs. */
export interface FreshDelivery {
  deliveryId: string;
  endpointId: string;
  url: string;
  secretEnvelope: string;
}

/** An event that has been committed and whose first attempts are due. */
export interface CommittedEvent extends EventRow {
  deliveries: readonly FreshDelivery[];
}

/** Passes the events that a process commits to an express lane, of this process or of a worker. */
export interface Handover {
  /**
   * Whether the insert itself claims the event and its deliveries for the lane of this process. False: the rows stay
   * free, and a worker elsewhere takes them.
   */
  readonly claims: boolean;
  /** Called after the commit, never before. It must not throw and must not wait. */
  committed(event: CommittedEvent): void;
}
