import type { DueEvent } from '../outbox/due-event.js';
import type { WorkflowStart } from './read-starts.js';

/** What a source of the starter hands over at once. */
export interface StartBatch {
  /** Counted against the in-flight limit when they were taken. */
  admitted: readonly DueEvent[];
  starts: readonly WorkflowStart[];
}
