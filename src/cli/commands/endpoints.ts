import type { StatementClaims } from '../../auth/authority.js';
import { showClient } from '../../auth/clients.js';
import { getCheck, startCheck } from '../../checks/checks.js';
import { pendingText } from '../../endpoints/disable.js';
import {
  getEndpoint,
  listEndpoints,
  type PublicEndpoint,
  setEndpointEnabledByOperator,
  setEndpointLimitByOperator,
  withEndpoints,
} from '../../endpoints/endpoints.js';
import { type FailingEndpoint, listFailingEndpoints } from '../../endpoints/health.js';
import { presentEndpoint } from '../../http/schemas/endpoint.js';
import { presentCheck } from '../../http/schemas/receiver-check.js';
import { presentStatement } from '../../http/schemas/statement.js';
import { type Database, readClock } from '../../platform/database/database.js';
import { isTooLong, MAX_WINDOW_DAYS } from '../../platform/limits.js';
import { CHECK_CASE_NAMES, MAX_CONCURRENCY, MAX_PER_SECOND } from '../../platform/vocabulary.js';
import { recoverEndpoint } from '../../recoveries/start-recovery.js';
import { readStatement } from '../../reports/statement.js';
import {
  type Asked,
  type Command,
  confirmed,
  idOf,
  type Limit,
  limitOf,
  limitWithin,
  parseSince,
  type When,
} from '../command.js';
import { declareList, type Page } from '../list.js';
import { waitFor } from '../terminal.js';
import { authorityIn, onDatabase } from '../with-database.js';

/** `endpoints …`: the clients' webhook endpoints. */
export function declare(endpoints: Command): void {
  const ofOne = (name: string) => endpoints.command(name).argument('<webhookId>', '', idOf('webhook endpoint'));

  declareList(endpoints, {
    about: 'list the endpoints of all clients, newest first',
    limit: 1_000,
    columns: [
      ...['webhookId', 'client_id', 'enabled', 'disabled_reason', 'max_concurrency', 'failing_since', 'pending'],
      ...['first_ladder_ends_at', 'last_failure.response_status', 'last_failure.error', 'last_success_at', 'url'],
    ],
    read: readPage,
    present,
  })
    .option('--client <client_id>', 'only endpoints of this client', idOf('client'))
    .option(
      '--failing',
      'only endpoints whose latest attempt failed: since when (to the hour), why, how many deliveries wait',
    );

  ofOne('disable')
    .asks()
    .description('stop and cancel all deliveries to an endpoint; only the `enable` command can enable it again')
    .does(disable);

  ofOne('enable').description('resume deliveries to an endpoint, whatever disabled it').does(enable);

  ofOne('set-concurrency')
    .argument('<limit>', `1 to ${MAX_CONCURRENCY}, or default`, limitWithin({ min: 1, max: MAX_CONCURRENCY }))
    .description('limit the concurrent attempts at an endpoint, over all workers; default: ENDPOINT_CONCURRENCY')
    .does(setLimit('maxConcurrency'));

  ofOne('set-rate')
    .argument('<limit>', `1 to ${MAX_PER_SECOND}, or default`, limitWithin({ min: 1, max: MAX_PER_SECOND }))
    .description('limit the attempts started in a second at an endpoint, over all workers; default: no limit')
    .does(setLimit('maxPerSecond'));

  ofOne('recover')
    .requiredOption('--since <time>', 'start of the range: 24h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--until <time>', 'end of the range, exclusive; default: now', parseSince)
    .option('--include-missing', `also deliver events without a delivery here, of at most ${MAX_WINDOW_DAYS} days`)
    .option('--include-pending', 'also restart pending deliveries that wait for their next planned attempt')
    .description('send the failed and cancelled deliveries of a range again, at 20 a second')
    .does(recover);

  ofOne('statement')
    .option('--since <time>', 'start of the window; default: 24h (ago), but not before the registration', parseSince)
    .option('--until <time>', 'end of the window, exclusive; default: now', parseSince)
    .description(`count the events of a window of up to ${MAX_WINDOW_DAYS} days by outcome`)
    .does(statement, { disabled_periods: ['from', 'to', 'reason'] });

  ofOne('check')
    .description('check what a receiver accepts and rejects (sandbox only); exits with 1 if a case fails')
    .does(check, { cases: ['name', 'passed', 'expected', 'response_status', 'error', 'hint'] });
}

type ListOptions = { client?: string; failing?: true };

async function readPage(
  database: Database,
  { client, failing: onlyFailing, ...page }: ListOptions & Page,
): Promise<Listed[]> {
  // A mistyped id is an error; an empty list means that the client has no endpoints.
  if (client !== undefined) await showClient(database, client);
  if (!onlyFailing) return listEndpoints(database, client, page);
  const found = await listFailingEndpoints(database, { clientId: client, ...page });
  const failing = await withEndpoints(
    database,
    found.map((one) => ({ ...one, endpointId: one.id })),
  );
  return failing.map(({ endpoint, ...one }) => ({ ...endpoint, ...one }));
}

type Listed = PublicEndpoint & Partial<FailingEndpoint>;

function present({ failingSince, lastSuccessAt, lastFailure, pending, firstEndsAt, ...endpoint }: Listed) {
  const { webhookId, ...fields } = presentEndpoint(endpoint);
  return {
    ...{ webhookId, client_id: endpoint.clientId, ...fields },
    ...(lastFailure && {
      failing_since: failingSince,
      pending,
      first_ladder_ends_at: firstEndsAt,
      last_success_at: lastSuccessAt,
      last_failure: { at: lastFailure.at, error: lastFailure.error, response_status: lastFailure.responseStatus },
    }),
  };
}

const disable = onDatabase(async ({ database, actor }, id: string, asked: Asked) => {
  const { url } = await getEndpoint(database, null, id);
  await confirmed(asked, async () => `${await pendingText(database, id)} will be cancelled. Disable ${url}?`);
  return { json: present(await setEndpointEnabledByOperator(database, actor, id, false)) };
});

const enable = onDatabase(async ({ database, actor }, id: string) => ({
  json: present(await setEndpointEnabledByOperator(database, actor, id, true)),
}));

const setLimit = (name: 'maxConcurrency' | 'maxPerSecond') =>
  onDatabase(async ({ database, actor }, id: string, limit: Limit) => ({
    json: present(await setEndpointLimitByOperator(database, actor, id, name, limitOf(limit))),
  }));

type Window = { since: When; until?: When };

/** The window by Postgres's clock. Ends the command if it is wrong. */
async function windowOf(db: Database, command: Command, { since: from, until: to }: Window, isLimited: boolean) {
  const now = await readClock(db);
  const [since, until] = [from(now), to?.(now)];
  if (since >= (until ?? now)) command.error('error: --until must be later than --since');
  if (isLimited && isTooLong({ since, until }, now)) {
    command.error(`error: a window can be at most ${MAX_WINDOW_DAYS} days`);
  }
  return { since, until };
}

const statement = onDatabase(
  async ({ database, environment }, endpointId: string, { since, until }: Partial<Window>, command: Command) => {
    const window = since
      ? await windowOf(database, command, { since, ...(until && { until }) }, true)
      : { since, until: until?.(await readClock(database)) };
    const sign = async (claims: StatementClaims) => (await authorityIn(database, environment)).signStatement(claims);
    const request = { clientId: null, endpointId, ...window, retention: environment.RETENTION, sign };
    return { json: { webhookId: endpointId, ...presentStatement(await readStatement(database, request)) } };
  },
);

type RecoverOptions = Window & { includeMissing?: true; includePending?: true };

/** `endpoints recover` starts a recovery, which a worker runs. */
const recover = onDatabase(
  async ({ database, actor }, endpointId: string, options: RecoverOptions, command: Command) => {
    const { includeMissing = false, includePending = false } = options;
    const window = await windowOf(database, command, options, includeMissing);
    return database.transaction(async (tx) => {
      const { clientId } = await getEndpoint(tx, null, endpointId);
      const request = { by: { actor }, clientId, endpointId, ...window, includeMissing, includePending };
      const { id, ...size } = await recoverEndpoint(tx, { ...request, countedFor: null });
      return { json: { id, webhookId: endpointId, client_id: clientId, ...size } };
    });
  },
);

/** Longer than nine requests to a receiver that never responds, ms. */
const LONGEST = 240_000;

/** `endpoints check` starts a check, which a worker runs, and waits for its report. */
const check = onDatabase(async ({ database, environment, actor }, endpointId: string) => {
  if (environment.ENVIRONMENT !== 'sandbox') {
    throw new Error('checks run in the sandbox only; ENVIRONMENT is not sandbox');
  }
  // A check is for a person who waits for its report: without Temporal it would not start.
  const { withTemporal } = await import('../../temporal/connection.js');
  if (environment.TEMPORAL_ADDRESS) await withTemporal(environment, async () => {});
  const { clientId } = await getEndpoint(database, null, endpointId);
  const of = { clientId, endpointId };
  const id = await database.transaction((tx) => startCheck(tx, { by: { actor }, ...of }));
  const ended = await waitFor(LONGEST, `the check ${id} has not ended`, async () => {
    const found = await getCheck(database, { ...of, id });
    return found.finishedAt === null ? undefined : found;
  });
  const failed = ended.cases.filter(({ passed }) => !passed).map(({ name }) => name);
  return {
    json: { webhookId: endpointId, client_id: clientId, ...presentCheck(ended, false) },
    failure: failed.length > 0 && `${failed.length} of ${CHECK_CASE_NAMES.length} cases failed: ${failed.join(', ')}`,
  };
});
