/** A row of `events`, as the statements below and those that start workflows read it. */
export interface EventRow {
  eventId: string;
  clientId: string;
  transferId: string;
  type: string;
  /** The bytes to send and sign, as text. */
  body: string;
  /** Of the request that made the event, in W3C's form; null: not traced. */
  traceparent: string | null;
}

/** The select list of an `EventRow`, for a statement that names the table `v`. */
export const EVENT_COLUMNS = `v.id as "eventId", v.client_id as "clientId", v.transfer_id as "transferId", v.type, v.body, v.traceparent`;
