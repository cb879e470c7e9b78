/**
 * Points between two steps at which a run kills a role (src/platform/failpoints.ts): those that events, attempts and
 * their workflows pass. The one of a check (`after-case-sent`) is in test/checks/run-case.test.ts.
 */
export const FAILPOINTS = {
  'before-commit': 'api',
  'after-commit': 'api',
  'after-retry-queued': 'api',
  'after-lease': 'worker',
  'before-post': 'worker',
  'after-post': 'worker',
  'before-record': 'worker',
  'after-record': 'worker',
  'before-disable': 'worker',
  'after-cancelled': 'worker',
  'before-start': 'worker',
  'after-start': 'worker',
  'before-mark': 'worker',
  'after-mark': 'worker',
  'after-workflow-start': 'worker',
  'after-requeued': 'worker',
  'after-missing-made': 'worker',
  'before-notified': 'worker',
  'after-notified': 'worker',
  'after-notification-sent': 'worker',
  'before-step': 'worker',
  'after-step': 'worker',
  'after-removed': 'worker',
} as const;
export type Failpoint = keyof typeof FAILPOINTS;
