import { setTimeout as sleep } from 'node:timers/promises';
import { showClient } from '../../auth/clients.js';
import { type CheckRecord, getCheck, startCheck } from '../../checks/checks.js';
import { recoverEndpoint } from '../../delivery/recovers.js';
import { getEndpointForOperator, listEndpoints, type PublicEndpoint } from '../../endpoints/endpoints.js';
import { setEndpointConcurrencyByOperator, setEndpointEnabledByOperator } from '../../endpoints/operate.js';
import { presentEndpoint } from '../../http/schemas/endpoint.js';
import { presentCheck } from '../../http/schemas/receiver-check.js';
import { presentStatement } from '../../http/schemas/statement.js';
import { personHere } from '../../platform/audit.js';
import type { Environment } from '../../platform/config/config.js';
import type { Database } from '../../platform/database/database.js';
import { isTooLong, MAX_WINDOW_DAYS } from '../../platform/limits.js';
import { CHECK_CASE_NAMES, CHECK_CASES, type CheckCase } from '../../platform/vocabulary.js';
import { readStatement, type Statement } from '../../reports/statement.js';
import type { Command, CommandResult } from '../command.js';
import type { Table, View } from '../view.js';
import { withDatabase } from '../with-database.js';

/** More than a client may have. */
const ALL = 10_000;

/** `endpoints list` */
export async function list(options: { client: string }): Promise<CommandResult> {
  const found = await withDatabase(async (database) => {
    // A mistyped id is an error; an empty list means that the client has no endpoints.
    await showClient(database, options.client);
    return listEndpoints(database, options.client, { before: undefined, take: ALL });
  });
  return { json: found.map(present), text: table(found) };
}

/** `endpoints disable` */
export const disable = (id: string) => setEnabled(id, false);

/** `endpoints enable` */
export const enable = (id: string) => setEnabled(id, true);

async function setEnabled(id: string, enabled: boolean): Promise<CommandResult> {
  const endpoint = await withDatabase((database) => setEndpointEnabledByOperator(database, personHere(), id, enabled));
  return { json: present(endpoint), text: `${endpoint.id}  ${endpoint.url}  ${state(endpoint)}` };
}

/** `endpoints set-concurrency` */
export async function setConcurrency(id: string, limit: number | null): Promise<CommandResult> {
  const endpoint = await withDatabase((database) =>
    setEndpointConcurrencyByOperator(database, personHere(), id, limit),
  );
  return { json: present(endpoint), text: `${endpoint.id}  ${endpoint.url}  at once: ${limit ?? 'default'}` };
}

function present(endpoint: PublicEndpoint) {
  const { webhookId, ...fields } = presentEndpoint(endpoint);
  return { webhookId, client_id: endpoint.clientId, ...fields };
}

function table(endpoints: readonly PublicEndpoint[]): Table {
  return {
    columns: ['endpoint', 'state', 'at once', { wraps: 'url' }, { wraps: 'description' }, 'created'],
    rows: endpoints.map((one) => [
      one.id,
      state(one),
      one.maxConcurrency ?? 'default',
      one.url,
      one.description,
      one.createdAt,
    ]),
    none: 'no endpoints',
  };
}

function state({ enabled, disabledReason, cancellingAfter }: PublicEndpoint): string {
  if (enabled) return 'enabled';
  return `disabled (${disabledReason})${cancellingAfter === null ? '' : ', cancelling'}`;
}

/** `endpoints statement` */
export async function statement(
  endpointId: string,
  { since, until }: { since?: number; until?: number },
  command: Command,
): Promise<CommandResult> {
  if (since !== undefined) requireWindow(command, { since, until }, 'a window may be at most');
  const found = await withDatabase((database, { RETENTION: retention }) =>
    readStatement(database, { clientId: null, endpointId, since, until, retention }),
  );
  return { json: { webhookId: endpointId, ...presentStatement(found) }, text: statementView(found) };
}

/** Ends the command if the window is wrong, whatever the database has. @param atMost null: a window of any length */
function requireWindow(
  command: Command,
  { since, until }: { since: number; until?: number | undefined },
  atMost: string | null,
): void {
  if (since >= (until ?? Date.now())) command.error('error: --until must be later than --since');
  if (atMost !== null && isTooLong({ since, until })) command.error(`error: ${atMost} ${MAX_WINDOW_DAYS} days`);
}

function statementView(statement: Statement): View {
  const { events, succeeded, pending, failed, cancelled, missing } = statement;
  return [
    {
      fields: {
        since: new Date(statement.since),
        until: new Date(statement.until),
        events,
        succeeded,
        pending,
        failed,
        cancelled,
        missing,
        complete: statement.complete ? 'yes' : 'no',
        final: statement.final ? 'yes' : 'no',
        'periods known since': statement.periodsKnownSince,
      },
    },
    {
      columns: ['disabled from', 'to', 'reason'],
      rows: statement.disabledPeriods.map(({ from, to, reason }) => [from, to, reason]),
      none: 'not disabled in the window, as far as known',
    },
  ];
}

interface RecoverOptions {
  since: number;
  until?: number;
  includeMissing?: true;
}

/** `endpoints recover`. A worker carries it out. */
export async function recover(endpointId: string, options: RecoverOptions, command: Command): Promise<CommandResult> {
  const { since, until = Date.now(), includeMissing = false } = options;
  requireWindow(command, options, includeMissing ? 'with --include-missing, a range may be at most' : null);
  const { clientId, count, missing } = await withDatabase((database) =>
    database.transaction(async (tx) => {
      const { clientId } = await getEndpointForOperator(tx, endpointId);
      const by = { actor: personHere() };
      const request = { by, clientId, endpointId, since, until, includeMissing, countedFor: null };
      return { clientId, ...(await recoverEndpoint(tx, request)) };
    }),
  );
  return {
    json: { webhookId: endpointId, client_id: clientId, count, missing },
    text:
      count + missing === 0
        ? 'there is nothing to recover in this range'
        : `${count} deliveries start again, and ${missing} missing events are sent`,
  };
}

/** Longer than nine requests to a receiver that never responds, ms. */
const LONGEST = 240_000;
/** Time between two looks at the report, ms. */
const LOOK = 300;

/** `endpoints check`. A worker carries it out. */
export async function check(id: string): Promise<CommandResult> {
  const found = await withDatabase((database, environment) => reportOf(database, environment, id));
  return {
    json: { webhookId: id, client_id: found.clientId, ...presentCheck(found, false) },
    text: checkView(found),
    failure: failureOf(found),
  };
}

/** @throws Refusal, Error of one line: no sandbox, or the check does not end */
async function reportOf(database: Database, environment: Environment, endpointId: string): Promise<CheckRecord> {
  if (environment.ENVIRONMENT !== 'sandbox') {
    throw new Error('receivers are checked in the sandbox only; ENVIRONMENT is not sandbox');
  }
  const { clientId } = await getEndpointForOperator(database, endpointId);
  const of = { clientId, endpointId };
  const id = await database.transaction((tx) => startCheck(tx, { by: { actor: personHere() }, ...of }));
  const deadline = performance.now() + LONGEST;
  for (;;) {
    const check = await getCheck(database, { ...of, id });
    if (check.finishedAt !== null) return check;
    if (performance.now() > deadline) throw new Error(`the check ${id} does not end; look whether a worker runs`);
    await sleep(LOOK);
  }
}

function checkView({ id, endpointId, status, cases }: CheckRecord): View {
  const passed = cases.filter((one) => one.passed).length;
  return [
    {
      fields: {
        check: id,
        endpoint: endpointId,
        status: `${status}: ${passed} of ${CHECK_CASE_NAMES.length} cases passed`,
      },
    },
    {
      columns: ['case', 'result', 'expected', 'response', { wraps: 'what to change' }],
      rows: cases.map((one) => [
        one.name,
        one.passed ? 'passed' : 'failed',
        CHECK_CASES[one.name as CheckCase],
        one.responseStatus ?? one.error,
        one.hint,
      ]),
      none: 'no cases',
    },
  ];
}

function failureOf({ cases }: CheckRecord): string | undefined {
  const failed = cases.filter(({ passed }) => !passed).map(({ name }) => name);
  if (failed.length === 0) return undefined;
  return `${failed.length} of ${CHECK_CASE_NAMES.length} cases failed: ${failed.join(', ')}`;
}
