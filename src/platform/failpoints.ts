import { channel } from 'node:diagnostics_channel';

/** A point between two steps where a crash test ends the process (the table in docs/reliability.md). */
export type Failpoint =
  | 'before-commit'
  | 'after-commit'
  | 'after-lease'
  | 'before-post'
  | 'after-post'
  | 'before-record'
  | 'after-record'
  | 'before-disable'
  | 'after-cancelled'
  | 'before-start'
  | 'after-start'
  | 'before-mark'
  | 'after-mark'
  | 'after-retry-queued'
  | 'after-requeued'
  | 'after-missing-made'
  | 'after-removed'
  | 'after-workflow-start'
  | 'before-step'
  | 'after-step'
  | 'after-case-sent';

const passed = channel('transfer-service.failpoint');

/**
 * Reports that the process passes a failpoint. The service has no listener and no setting for it: test code that is
 * loaded beside the service ends the process here (test/support/die-at-failpoint.js).
 */
export function failpoint(name: Failpoint): void {
  if (passed.hasSubscribers) passed.publish(name);
}
