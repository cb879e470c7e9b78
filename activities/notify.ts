import { ApplicationFailure } from '@temporalio/activity';
import { type NotifyDependencies, sendNotification } from '../src/notifications/notify.js';
import type { NotifyActivities } from '../workflows/notify.js';

/** Messages that a process sends at once: a recipient that hangs leaves the slots of activities to deliveries. */
const AT_ONCE = 20;

/** Creates the activity of the workflow `notify`. */
export function createNotifyActivities(dependencies: NotifyDependencies): NotifyActivities {
  let sending = 0;
  return {
    async sendNotification(request) {
      if (sending >= AT_ONCE) {
        throw ApplicationFailure.create({ message: 'many messages are being sent', nextRetryDelay: '5s' });
      }
      sending++;
      try {
        return await sendNotification(dependencies, request);
      } finally {
        sending--;
      }
    },
  };
}
