import { Client, Connection, type ScheduleDescription } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.js';
import type { Config } from '../config.js';
import { connectionOptions } from './connection.js';
import { NAMESPACE_RETENTION_SECONDS } from './namespace.js';
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
    connection = await Connection.connect({ ...connectionOptions(temporal), connectTimeout: '5s' });
  } catch {
    return [
      { check: 'Temporal', ok: false, detail: `cannot be reached at ${temporal.address}; look at TEMPORAL_ADDRESS` },
    ];
  }
  try {
    const reached = { check: 'Temporal', ok: true, detail: temporal.address };
    const described = await connection.workflowService.describeNamespace({ namespace }).catch(() => undefined);
    if (!described) {
      return [reached, { check: 'namespace', ok: false, detail: `there is no ${namespace}; ${FIX}` }];
    }
    const days = (described.config?.workflowExecutionRetentionTtl?.seconds?.toNumber() ?? 0) / 86_400;
    const wanted = NAMESPACE_RETENTION_SECONDS / 86_400;
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = SEARCH_ATTRIBUTES.map(({ name }) => name).filter((name) => customAttributes?.[name] === undefined);
    const schedule = await new Client({ connection, namespace }).schedule
      .getHandle(RETENTION_SCHEDULE)
      .describe()
      .catch(() => undefined);
    return [
      reached,
      {
        check: 'namespace',
        ok: days >= wanted,
        detail:
          days >= wanted
            ? `${namespace}, keeps ${days} days`
            : `${namespace} keeps ${days} days, not ${wanted}; ${FIX}`,
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
