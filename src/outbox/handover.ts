/** One delivery of a committed event, with what attempt 1 needs. */
export interface FreshDelivery {
  deliveryId: string;
  endpointId: string;
  url: string;
  secretEnvelope: string;
}

/** An event that has been committed and whose first attempts are to be made. */
export interface CommittedEvent {
  eventId: string;
  clientId: string;
  transferId: string;
  type: string;
  /** The bytes to send and sign, as text. */
  body: string;
  /** Of the request that made it; null: not traced. */
  traceparent: string | null;
  deliveries: readonly FreshDelivery[];
}

/** How a process that commits events passes them on to an express lane. */
export interface Handover {
  /**
   * Whether the insert itself claims the event and its deliveries for the lane in this process. False: the rows are left
   * free, for a worker elsewhere to take.
   */
  readonly claims: boolean;
  /** Called after the commit, never before; must not throw and must not wait. */
  committed(event: CommittedEvent): void;
}
