import { channel } from 'node:diagnostics_channel';

/** A place between two steps where a crash test ends the process (the table in docs/reliability.md). */
export type Failpoint =
  | 'before-commit'
  | 'after-commit'
  | 'after-lease'
  | 'before-post'
  | 'after-post'
  | 'before-record'
  | 'after-record'
  | 'before-disable'
  | 'before-start'
  | 'after-start'
  | 'before-mark'
  | 'after-mark'
  | 'after-signal'
  | 'after-reserved'
  | 'after-admitted'
  | 'after-asked'
  | 'before-kept'
  | 'after-kept'
  | 'after-put-back'
  | 'after-removed';

const passed = channel('transfer-service.failpoint');

/**
 * Says that a place is passed. The service itself has nothing that listens, and no setting for it: what ends a process
 * here is test code, loaded beside the service (test/support/die-at-failpoint.js).
 */
export function failpoint(name: Failpoint): void {
  if (passed.hasSubscribers) passed.publish(name);
}
