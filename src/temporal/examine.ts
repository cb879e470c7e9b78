import { Client, type Connection, type ScheduleDescription } from '@temporalio/client';
import type { Config } from '../config.js';
import { formatDuration } from '../duration.js';
import { connectOnce } from './connection.js';
import { missingAttributes } from './missing-attributes.js';
import { RETENTION_SCHEDULE } from './retention-schedule.js';

/** The result of one check of `doctor`. `detail` says what is wrong and how to fix it. */
export interface Finding {
  check: string;
  ok: boolean;
  detail: string;
  /** The service works, but the setting should be changed. */
  warning?: true;
}

const FIX = 'run transfer-service migrate';

/** Checks Temporal, its namespace, its search attributes and the retention Schedule, for `doctor`. */
export async function temporalFindings(temporal: Config['temporal']): Promise<Finding[]> {
  const { namespace } = temporal;
  let connection: Connection;
  try {
    connection = await connectOnce(temporal);
  } catch (error) {
    return [{ check: 'Temporal', ok: false, detail: (error as Error).message }];
  }
  try {
    const reached = { check: 'Temporal', ok: true, detail: temporal.address };
    const described = await connection.workflowService.describeNamespace({ namespace }).catch(() => undefined);
    if (!described) {
      return [reached, { check: 'namespace', ok: false, detail: `there is no ${namespace}; ${FIX}` }];
    }
    const retention = 1_000 * (described.config?.workflowExecutionRetentionTtl?.seconds?.toNumber() ?? 0);
    const client = new Client({ connection, namespace });
    const missing = await missingAttributes(client, connection);
    const schedule = await client.schedule
      .getHandle(RETENTION_SCHEDULE)
      .describe()
      .catch(() => undefined);
    return [
      reached,
      {
        check: 'namespace',
        ok: retention >= temporal.retention,
        detail:
          retention >= temporal.retention
            ? `${namespace}, keeps ended workflows for ${formatDuration(retention)}`
            : `${namespace} keeps ended workflows for ${formatDuration(retention)}, not ${formatDuration(temporal.retention)} (TEMPORAL_RETENTION); ${FIX}`,
      },
      {
        check: 'search attributes',
        ok: missing.length === 0,
        detail: missing.length === 0 ? 'all registered' : `missing ${missing.join(', ')}; ${FIX}`,
      },
      {
        check: 'retention',
        ok: schedule !== undefined && !schedule.state.paused,
        detail: describeSchedule(schedule),
      },
    ];
  } finally {
    await connection.close();
  }
}

function describeSchedule(schedule: ScheduleDescription | undefined): string {
  if (!schedule) return `there is no schedule ${RETENTION_SCHEDULE}; ${FIX}`;
  if (schedule.state.paused) return `the schedule ${RETENTION_SCHEDULE} is paused: nothing is removed; unpause it`;
  const [next] = schedule.info.nextActionTimes;
  return `schedule ${RETENTION_SCHEDULE}, next ${next?.toISOString() ?? 'unknown'}`;
}
