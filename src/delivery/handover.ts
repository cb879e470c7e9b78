import type { Trigger } from '../platform/vocabulary.js';

/** One queued attempt, with everything that it needs. */
export interface LeasedAttempt {
  deliveryId: string;
  eventId: string;
  clientId: string;
  endpointId: string;
  line: Line;
  /** Of this attempt, 1 for the delivery's first. */
  number: number;
  trigger: Trigger;
  url: string;
  secretEnvelope: string;
  /** The headers of its endpoint's owner; null: none. */
  headersEnvelope: string | null;
  /** Whether it is signed in the form of Standard Webhooks too. */
  signsStandard: boolean;
  /** Attempts at once at its endpoint, over all workers; null: ENDPOINT_CONCURRENCY; 1: the receiver is spared. */
  maxConcurrency: number | null;
  /** Attempts started in a second at its endpoint, over all workers; null: no limit. */
  maxPerSecond: number | null;
  /** The bytes to send and sign, as text. */
  body: string;
  /** Of the request that made the event, in W3C's form; null: not traced. */
  traceparent: string | null;
  /** Whether an activity of the event's workflow waits for the result. */
  isAwaited?: boolean;
  /** The end of the lease on Postgres's clock, as text: it tells this lease from a later one. */
  leasedUntil: string;
}

/**
 * The two lines of an endpoint in the queue, which are served in turns: `fresh` (first attempts, rungs of 0 s, manual
 * retries) and `late` (other rungs, recovered deliveries). An endpoint with 100,000 overdue deliveries still gets its
 * fresh ones.
 */
export type Line = 'fresh' | 'late';

/** An endpoint with attempts in the queue. */
export type QueuedAt = Pick<LeasedAttempt, 'clientId' | 'endpointId' | 'maxConcurrency'>;

/** The keys of a queued attempt. */
export type AttemptKeys = QueuedAt & Pick<LeasedAttempt, 'deliveryId'>;

/** The attempts of a committed event that are queued, as the producer's statement returns them. */
export interface QueuedEvent extends Pick<LeasedAttempt, 'eventId' | 'clientId'> {
  deliveries: readonly (Omit<AttemptKeys, 'clientId'> & {
    /** The attempt, if the statement has leased it to this process. */
    leased?: LeasedAttempt;
  })[];
  /** By `performance.now()`, before the producer's statement. */
  leasedAt: number;
}

/** What a producer's statement leases of the attempts that it queues. */
export interface LeaseTerms {
  /** The lease token of this process; null: it leases nothing. */
  token: string | null;
  /** Endpoints of which it leases nothing: enough waits here, they are paused, or other workers have their slots. */
  except: readonly string[];
}

/** Of a process that makes no attempts. */
export const NOTHING_LEASED: LeaseTerms = { token: null, except: [] };

/** What the API and other producers know of the dispatcher. A process without one notifies the workers instead. */
export interface Handover {
  /** The ladder with which deliveries start, ms. Each keeps it. */
  readonly retryDelays: readonly number[];
  /** Asked for each statement that appends events. */
  leaseTerms(): LeaseTerms;
  /**
   * Called after the commit of an event. It never fails. Where many attempts wait in this process, the promise resolves
   * when those of this event have started, at most 250 ms later.
   */
  committed(event: QueuedEvent): Promise<void> | undefined;
  /** Called after the commit of a manual retry. It neither throws nor waits. */
  queued(attempt: AttemptKeys): void;
}
