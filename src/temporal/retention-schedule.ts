import {
  Client,
  type Connection,
  ScheduleAlreadyRunning,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';

export const RETENTION_SCHEDULE = 'retention';

/**
 * Runs every hour, so that no run removes a day's events. The worker's setting RETENTION decides which events it
 * removes.
 */
const definition: Omit<ScheduleOptions, 'scheduleId'> = {
  spec: { intervals: [{ every: '1h' }], jitter: '5m' },
  policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1h' },
  action: {
    type: 'startWorkflow',
    workflowType: 'removeExpired',
    workflowId: 'retention',
    taskQueue: TASK_QUEUE,
    staticSummary: 'removes what is older than RETENTION',
  },
};

/**
 * Makes the Schedule that removes events older than RETENTION, or updates it. A paused Schedule stays paused.
 * @returns whether it was made
 */
export async function ensureRetentionSchedule(connection: Connection, namespace: string): Promise<boolean> {
  const { schedule } = new Client({ connection, namespace });
  try {
    await schedule.create({ scheduleId: RETENTION_SCHEDULE, ...definition });
    return true;
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  await schedule.getHandle(RETENTION_SCHEDULE).update(({ state }) => ({ ...definition, state }) as never);
  return false;
}
