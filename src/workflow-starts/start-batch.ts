import type { DueEvent } from '../outbox/due-event.js';
import type { WorkflowStart } from './read-starts.js';

/** The starts that a source of the starter hands over at once. */
export interface StartBatch {
  /** Events that count against the in-flight limit since they were taken. */
  admitted: readonly DueEvent[];
  starts: readonly WorkflowStart[];
}
