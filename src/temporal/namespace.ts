import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type Connection, ScheduleNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.js';
import type { Config } from '../platform/config/config.js';
import { formatDuration } from '../platform/duration.js';
import { type Finding, finding } from '../platform/finding.js';
import { connectOnce, isNamespaceMissing, isNotAllowed, isRefusedInput } from './connection.js';

const ALREADY_EXISTS = 6;
/** 60 attempts with a pause of 500 ms between them take half a minute. */
const ATTEMPTS = 60;
const PAUSE = 500;

/** IndexedValueType of temporal.api.enums.v1. */
const INDEXED_VALUE_TYPE = { KEYWORD: 2, KEYWORD_LIST: 7 } as const;

/**
 * Makes the namespace if it is missing, sets its retention, and registers the search attributes. It is safe to run
 * again, and to run twice at once.
 * @returns a line for each change that it made
 * @throws Error of one line: Temporal cannot be reached, or does not let this caller administer the namespace
 */
export async function migrateTemporal(temporal: Config['temporal']): Promise<string[]> {
  const { namespace } = temporal;
  const connection = await connectOnce(temporal);
  try {
    const done = [];
    const retention = Math.round(temporal.retention / 1_000);
    const change = await registerNamespace(connection, namespace, retention);
    if (change) done.push(`namespace ${namespace} ${change}`);
    const added = await onceKnown(() => registerSearchAttributes(connection, namespace));
    if (added.length > 0) done.push(`search attributes added: ${added.join(', ')}`);
    if (await onceKnown(() => endFormerWorkflows(new Client({ connection, namespace }))))
      done.push('schedule retention removed');
    return done;
  } catch (error) {
    if (!isNotAllowed(error)) throw error;
    throw new Error(
      `Temporal does not let this caller administer the namespace ${namespace}: run migrate --database-only, and see "A Temporal that others administer" in docs/operations/temporal.md`,
      { cause: error },
    );
  } finally {
    await connection.close();
  }
}

/** @param seconds its retention @returns what was changed */
async function registerNamespace(
  connection: Connection,
  namespace: string,
  seconds: number,
): Promise<string | undefined> {
  // protobufjs takes a plain object for a 64-bit number.
  const retention = { seconds: { low: seconds, high: 0, unsigned: false } as never };
  const { workflowService } = connection;
  const described = await workflowService.describeNamespace({ namespace }).catch((error: unknown) => {
    if (!isNamespaceMissing(error)) throw error;
  });
  if (!described) {
    const made = workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: retention });
    await made.catch((error: { code?: number }) => {
      if (error.code !== ALREADY_EXISTS) throw error;
    });
    return 'made';
  }
  if (described.config?.workflowExecutionRetentionTtl?.seconds?.toNumber() === seconds) return undefined;
  await workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: retention } });
  return `keeps ended workflows for ${formatDuration(1_000 * seconds)}`;
}

/**
 * Repeats the work until Temporal knows the namespace. Its services learn of a new namespace within seconds, and later
 * of a namespace made again under an old name. Until then they refuse requests.
 */
async function onceKnown<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || isNotAllowed(error)) throw error;
      await sleep(PAUSE);
    }
  }
}

type Operator = Pick<Connection, 'operatorService'>;

async function unregisteredAttributes({ operatorService }: Operator, namespace: string) {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  return SEARCH_ATTRIBUTES.filter(({ name }) => customAttributes?.[name] === undefined);
}

/** Adds the missing search attributes. @returns their names */
async function registerSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const missing = await unregisteredAttributes(connection, namespace);
  if (missing.length > 0) await addSearchAttributes(connection, namespace, missing);
  return missing.map(({ name }) => name);
}

/** Adds search attributes to a namespace. None of them may exist there already. */
export async function addSearchAttributes(
  connection: Connection,
  namespace: string,
  keys: readonly (typeof SEARCH_ATTRIBUTES)[number][],
): Promise<void> {
  const types = keys.map(({ name, type }) => [name, INDEXED_VALUE_TYPE[type]]);
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(types) });
}

/** The names of the search attributes that the namespace lacks. */
export async function missingAttributes(client: Client, connection: Operator): Promise<string[]> {
  try {
    return (await unregisteredAttributes(connection, client.options.namespace)).map(({ name }) => name);
  } catch (error) {
    if (!isNotAllowed(error)) throw error;
  }
  // A count refuses a query that names an unknown attribute, and any caller that starts workflows may count.
  const missing: string[] = [];
  for (const { name } of SEARCH_ATTRIBUTES) {
    await client.workflow.count(`${name} is null`).catch((error: unknown) => {
      if (!isRefusedInput(error)) throw error;
      missing.push(name);
    });
  }
  return missing;
}

const FORMER = `ExecutionStatus = 'Running' and WorkflowType in ('removeExpired', 'recoverEndpoint')`;

/**
 * Ends what workers do without Temporal since release 1.1: the Schedule that removes expired rows, and the workflows of
 * recoveries.
 * @returns whether there was the Schedule
 */
async function endFormerWorkflows({ schedule, workflow }: Client): Promise<boolean> {
  const wasThere = await schedule
    .getHandle('retention')
    .delete()
    .then(() => true)
    .catch((error) => {
      if (error instanceof ScheduleNotFoundError) return false;
      throw error;
    });
  for await (const { workflowId } of workflow.list({ query: FORMER }))
    await workflow
      .getHandle(workflowId)
      .terminate('a worker does this without a workflow')
      // It has ended meanwhile.
      .catch((error) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      });
  return wasThere;
}

/** The oldest supported release (docs/operations/temporal.md), and the first one whose task queues can be fair. */
const [SUPPORTED, FAIR] = ['1.31', '1.29'] as const;

/** Whether a server has a version, and is older: others, such as Temporal Cloud, hide or change it. */
function isOlder(version: string, than: string): boolean {
  if (!/^v?\d+\.\d+\./.test(version)) return false;
  return version.replace('v', '').localeCompare(than, 'en', { numeric: true }) < 0;
}

/** Only production needs a supported release: the embedded stack has the one that it finds or builds. */
export function serverFinding(at: string, version: string, environment: Config['environment']): Finding {
  const text = `${at}, version ${version || 'unknown'}`;
  const turns = `${text}: older than ${FAIR}, so that clients' workflows do not take turns; upgrade it`;
  const found = finding('Temporal', text, isOlder(version, FAIR) && turns);
  if (!found.ok || environment !== 'production' || !isOlder(version, SUPPORTED)) return found;
  return { ...found, warning: true, detail: `${text}: older than ${SUPPORTED}, the oldest supported release` };
}

const FIX = 'run transfer-service migrate';

/**
 * Checks Temporal, its namespace and its search attributes, for `doctor`.
 * @param further a check of what the service does with Temporal
 */
export async function temporalFindings(
  { temporal, environment }: Pick<Config, 'temporal' | 'environment'>,
  further?: (client: Client) => Promise<Finding>,
): Promise<Finding[]> {
  const { namespace } = temporal;
  const connection = await connectOnce(temporal).catch((error: Error) => error);
  if (connection instanceof Error) return [finding('Temporal', '', connection.message)];
  try {
    const { serverVersion = '' } = await connection.workflowService.getSystemInfo({});
    const reached = serverFinding(temporal.address, serverVersion, environment);
    const described = await connection.workflowService.describeNamespace({ namespace }).catch(() => undefined);
    if (!described) return [reached, finding('namespace', '', `there is no ${namespace}; ${FIX}`)];
    const retention = 1_000 * (described.config?.workflowExecutionRetentionTtl?.seconds?.toNumber() ?? 0);
    const keeps = `keeps ended workflows for ${formatDuration(retention)}`;
    const wanted = `not ${formatDuration(temporal.retention)} (TEMPORAL_RETENTION); ${FIX}`;
    const client = new Client({ connection, namespace });
    const missing = await missingAttributes(client, connection);
    return [
      reached,
      finding(
        'namespace',
        `${namespace}, ${keeps}`,
        retention < temporal.retention && `${namespace} ${keeps}, ${wanted}`,
      ),
      finding('search attributes', 'all registered', missing.length > 0 && `missing ${missing.join(', ')}; ${FIX}`),
      ...(further ? [await further(client)] : []),
    ];
  } finally {
    await connection.close();
  }
}
