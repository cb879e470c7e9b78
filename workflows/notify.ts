import { proxyActivities, setCurrentDetails, sleep } from '@temporalio/workflow';
import { formatDuration } from '../src/platform/duration.js';
import type { NotificationType } from '../src/platform/vocabulary.js';

export type Recipient = 'operator' | 'client';

export interface NotifyInput {
  notificationId: string;
  to: Recipient;
  type: NotificationType;
  /** Delays of the tries after the first, ms. */
  ladder: readonly number[];
}

/** `ended`: the message or its recipient is no longer there. */
export type NotifyResult = 'received' | 'failed' | 'ended';

export interface NotifyActivities {
  /** Sends the message once. The request holds no secret and no URL, so the workflow's history does not either. */
  sendNotification(request: { notificationId: string; to: Recipient; isLast: boolean }): Promise<NotifyResult>;
}

const { sendNotification } = proxyActivities<NotifyActivities>({
  // A receiver has 15 s to respond.
  startToCloseTimeout: '30s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/** Tells the operator or a client, by the ladder of deliveries. @returns the result of the last try */
export async function notify({ notificationId, to, type, ladder }: NotifyInput): Promise<NotifyResult> {
  for (let tries = 1; ; tries++) {
    const delay = ladder[tries - 1];
    const isLast = delay === undefined;
    const summary = `try ${tries}: ${type} → ${to}`;
    const result = await sendNotification.executeWithOptions({ summary }, [{ notificationId, to, isLast }]);
    setCurrentDetails(`Try ${tries} of ${ladder.length + 1}: ${result}.`);
    if (result !== 'failed' || isLast) return result;
    if (delay > 0) await sleep(delay, { summary: `try ${tries + 1} after ${formatDuration(delay)}` });
  }
}
