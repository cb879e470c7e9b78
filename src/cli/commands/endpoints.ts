import { showClient } from '../../auth/clients.js';
import { type CheckRecord, getCheck, startCheck } from '../../checks/checks.js';
import { isConclusive } from '../../checks/hints.js';
import { recoverEndpoint } from '../../delivery/recoveries.js';
import { countPending, pendingText } from '../../endpoints/disable.js';
import {
  getEndpoint,
  listEndpoints,
  type PublicEndpoint,
  readEndpoints,
  setEndpointConcurrencyByOperator,
  setEndpointEnabledByOperator,
} from '../../endpoints/endpoints.js';
import { type FailingEndpoint, listFailingEndpoints } from '../../endpoints/health.js';
import { presentEndpoint } from '../../http/schemas/endpoint.js';
import { presentCheck } from '../../http/schemas/receiver-check.js';
import { presentStatement } from '../../http/schemas/statement.js';
import type { Database } from '../../platform/database/database.js';
import { isTooLong, MAX_WINDOW_DAYS } from '../../platform/limits.js';
import { CHECK_CASE_NAMES, CHECK_CASES, type CheckCase, MAX_CONCURRENCY } from '../../platform/vocabulary.js';
import { readStatement, type Statement } from '../../reports/statement.js';
import { type Command, type CommandResult, idOf, parseLimit, parseSince, wholeNumber } from '../command.js';
import { canAsk, confirm, report, waitFor } from '../terminal.js';
import { outcomeOf, pageOf, type Table, type View } from '../view.js';
import { onDatabase, requireTemporalStarted } from '../with-database.js';

/** `endpoints …`: the clients' webhook endpoints. */
export function declare(endpoints: Command): void {
  const ofOne = (name: string) => endpoints.command(name).argument('<webhookId>', '', idOf('webhook endpoint'));

  endpoints
    .command('list')
    .option('--client <client_id>', 'only endpoints of this client')
    .option('--failing', 'only endpoints whose latest attempt failed: since when (to the hour) and why')
    .option('--limit <n>', 'at most this many endpoints', parseLimit, 1_000)
    .option('--cursor <webhookId>', 'the last endpoint of the previous page', idOf('webhook endpoint'))
    .description('list the endpoints of all clients, newest first')
    .does(list);

  ofOne('disable')
    .option('--yes', 'do not ask on a terminal')
    .description('stop and cancel all deliveries to an endpoint; only the `enable` command can enable it again')
    .does(disable);

  ofOne('enable').description('resume deliveries to an endpoint, whatever disabled it').does(enable);

  ofOne('set-concurrency')
    .argument('<limit>', `1 to ${MAX_CONCURRENCY}, or default`, parseConcurrency)
    .description('limit the concurrent attempts at an endpoint, over all workers; default: ENDPOINT_CONCURRENCY')
    .does(setConcurrency);

  ofOne('recover')
    .requiredOption('--since <time>', 'start of the range: 24h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--until <time>', 'end of the range, exclusive; default: now', parseSince)
    .option(
      '--include-missing',
      `also deliver events that have no delivery for this endpoint; limits the range to ${MAX_WINDOW_DAYS} days`,
    )
    .description('send the failed and cancelled deliveries of a range again, at 20 a second')
    .does(recover);

  ofOne('statement')
    .option(
      '--since <time>',
      'start of the window: 24h (ago), or 2026-11-21T10:00:00Z; default: 24h, or the registration if that is later',
      parseSince,
    )
    .option('--until <time>', 'end of the window, exclusive; default: now', parseSince)
    .description(`count the events of a window of up to ${MAX_WINDOW_DAYS} days by outcome`)
    .does(statement);

  ofOne('check')
    .description('check what a receiver accepts and rejects (sandbox only); exits with 1 if a case fails')
    .does(check);
}

const parseNumber = wholeNumber(1, MAX_CONCURRENCY, `Give 1 to ${MAX_CONCURRENCY}, or default.`);

/** A limit of concurrent attempts. @returns null for `default`, the limit of the deployment */
function parseConcurrency(text: string): number | null {
  return text === 'default' ? null : parseNumber(text);
}

interface ListOptions {
  client?: string;
  failing?: true;
  limit: number;
  cursor?: string;
}

const list = onDatabase(async ({ database }, options: ListOptions): Promise<CommandResult> => {
  const { client, failing, limit, cursor: before } = options;
  // A mistyped id is an error; an empty list means that the client has no endpoints.
  if (client !== undefined) await showClient(database, client);
  const page = { before, take: limit + 1 };
  if (failing)
    return failingResult(database, await listFailingEndpoints(database, { clientId: client, ...page }), limit);
  const found = await listEndpoints(database, client, page);
  const { shown, note } = pageOf(found, limit);
  return { json: shown.map(present), text: table(shown), note };
});

async function failingResult(db: Database, found: readonly FailingEndpoint[], limit: number): Promise<CommandResult> {
  const { shown: failing, note } = pageOf(found, limit);
  const ids = failing.map(({ id }) => id);
  const endpoints = await readEndpoints(db, ids);
  const rows = failing.flatMap((one) => {
    const endpoint = endpoints.find(({ id }) => id === one.id);
    return endpoint ? [{ endpoint, ...one }] : [];
  });
  return {
    json: rows.map(({ endpoint, failingSince, lastSuccessAt, lastFailure: { at, error, responseStatus } }) => ({
      ...present(endpoint),
      failing_since: failingSince,
      last_success_at: lastSuccessAt,
      last_failure: { at, error, response_status: responseStatus },
    })),
    text: {
      rows: rows.map(({ endpoint, failingSince, lastSuccessAt, lastFailure }) => ({
        endpoint: endpoint.id,
        client: endpoint.clientId,
        state: state(endpoint),
        'failing since': failingSince,
        why: outcomeOf(lastFailure),
        'last failure': lastFailure.at,
        'last success': lastSuccessAt,
        url: endpoint.url,
      })),
      wraps: ['url'],
      none: 'no endpoint is failing',
    },
    note,
  };
}

const disable = onDatabase(async ({ database, actor }, id: string, { yes }: { yes?: true }) => {
  if (!yes && canAsk()) {
    const { url } = await getEndpoint(database, null, id);
    await confirm(`${pendingText(await countPending(database, id))} will be cancelled. Disable ${url}?`);
  }
  return stateResult(await setEndpointEnabledByOperator(database, actor, id, false));
});

const enable = onDatabase(async ({ database, actor }, id: string) =>
  stateResult(await setEndpointEnabledByOperator(database, actor, id, true)),
);

function stateResult(endpoint: PublicEndpoint): CommandResult {
  return { json: present(endpoint), text: `${endpoint.id}  ${endpoint.url}  ${state(endpoint)}` };
}

const setConcurrency = onDatabase(async ({ database, actor }, id: string, limit: number | null) => {
  const endpoint = await setEndpointConcurrencyByOperator(database, actor, id, limit);
  return { json: present(endpoint), text: `${endpoint.id}  ${endpoint.url}  concurrency: ${limit ?? 'default'}` };
});

function present(endpoint: PublicEndpoint) {
  const { webhookId, ...fields } = presentEndpoint(endpoint);
  return { webhookId, client_id: endpoint.clientId, ...fields };
}

function table(endpoints: readonly PublicEndpoint[]): Table {
  return {
    rows: endpoints.map((one) => ({
      endpoint: one.id,
      state: state(one),
      concurrency: one.maxConcurrency ?? 'default',
      url: one.url,
      description: one.description,
      created: one.createdAt,
      client: one.clientId,
    })),
    wraps: ['url', 'description'],
    none: 'no endpoints',
  };
}

function state({ enabled, disabledReason, cancellingAfter }: PublicEndpoint): string {
  if (enabled) return 'enabled';
  return `disabled (${disabledReason})${cancellingAfter === null ? '' : ', cancelling'}`;
}

async function statement(
  endpointId: string,
  { since, until }: { since?: number; until?: number },
  command: Command,
): Promise<CommandResult> {
  if (since !== undefined) requireWindow(command, { since, until }, 'a window can be at most');
  return onDatabase(async ({ database, environment: { RETENTION: retention } }) => {
    const found = await readStatement(database, { clientId: null, endpointId, since, until, retention });
    return { json: { webhookId: endpointId, ...presentStatement(found) }, text: statementView(found) };
  })();
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

function statementView({ complete, final, disabledPeriods, periodsKnownSince, ...counts }: Statement): View {
  return [
    {
      fields: {
        ...counts,
        complete: complete ? 'yes' : 'no',
        final: final ? 'yes' : 'no',
        'periods known since': periodsKnownSince,
      },
    },
    {
      rows: disabledPeriods.map(({ from, to, reason }) => ({ 'disabled from': from, to, reason })),
      none: 'no disabled period is known in the window',
    },
  ];
}

interface RecoverOptions {
  since: number;
  until?: number;
  includeMissing?: true;
}

/** `endpoints recover` starts a recovery, which a worker runs. */
async function recover(endpointId: string, options: RecoverOptions, command: Command): Promise<CommandResult> {
  const { since, until, includeMissing = false } = options;
  report('counting what to recover');
  requireWindow(command, options, includeMissing ? 'with --include-missing, a range can be at most' : null);
  const start = onDatabase(({ database, actor }) =>
    database.transaction(async (tx) => {
      const { clientId } = await getEndpoint(tx, null, endpointId);
      const request = { by: { actor }, clientId, endpointId, since, until, includeMissing, countedFor: null };
      return { clientId, ...(await recoverEndpoint(tx, request)) };
    }),
  );
  const { clientId, id, count, missing } = await start();
  return {
    json: { id, webhookId: endpointId, client_id: clientId, count, missing },
    text:
      count + missing === 0
        ? 'nothing to recover in this range'
        : `recovery started: ${count} failed or cancelled deliveries, ${missing} missing events\nrecovery ${id}; \`recoveries list\` shows its progress`,
  };
}

/** Longer than nine requests to a receiver that never responds, ms. */
const LONGEST = 240_000;

/** `endpoints check` starts a check, which a worker runs, and waits for its report. */
const check = onDatabase(async ({ database, environment, actor }, endpointId: string) => {
  if (environment.ENVIRONMENT !== 'sandbox') {
    throw new Error('checks run in the sandbox only; ENVIRONMENT is not sandbox');
  }
  await requireTemporalStarted();
  // A check is for a person who waits for its report: without Temporal it would not start.
  const { withTemporal } = await import('../../temporal/connection.js');
  if (environment.TEMPORAL_ADDRESS) await withTemporal(environment, async () => {});
  const { clientId } = await getEndpoint(database, null, endpointId);
  const of = { clientId, endpointId };
  const id = await database.transaction((tx) => startCheck(tx, { by: { actor }, ...of }));
  const found = await waitFor(LONGEST, `the check ${id} has not ended`, async () => {
    const check = await getCheck(database, { ...of, id });
    if (check.finishedAt !== null) return check;
    report(`checking the receiver: ${check.cases.length} of ${CHECK_CASE_NAMES.length} cases`);
    return undefined;
  });
  return {
    json: { webhookId: endpointId, client_id: clientId, ...presentCheck(found, false) },
    text: checkView(found),
    failure: failureOf(found),
  };
});

function checkView({ id, endpointId, status, cases }: CheckRecord): View {
  const passed = cases.filter((one) => one.passed && isConclusive(one.name, cases)).length;
  return [
    {
      fields: {
        check: id,
        endpoint: endpointId,
        status: `${status}: ${passed} of ${CHECK_CASE_NAMES.length} cases passed`,
      },
    },
    {
      rows: cases.map((one) => ({
        case: one.name,
        result: isConclusive(one.name, cases) ? (one.passed ? 'passed' : 'failed') : 'inconclusive',
        expected: CHECK_CASES[one.name as CheckCase],
        response: one.responseStatus ?? one.error,
        'what to change': one.hint,
      })),
      wraps: ['what to change'],
      none: 'no cases',
    },
  ];
}

function failureOf({ cases }: CheckRecord): string | undefined {
  const failed = cases.filter(({ passed }) => !passed).map(({ name }) => name);
  if (failed.length === 0) return undefined;
  return `${failed.length} of ${CHECK_CASE_NAMES.length} cases failed: ${failed.join(', ')}`;
}
