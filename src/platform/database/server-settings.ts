import { Secret } from '../secret.js';

/** Postgres settings at the start of a connection, by their Postgres names. */
export type ServerSettings = Readonly<Record<string, string>>;

/** Postgres detects a vanished machine after a minute of silence and releases its locks. */
const TCP = {
  tcp_keepalives_idle: '30s',
  tcp_keepalives_interval: '10s',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '60s',
};

/**
 * What decides how a value is read and written, which tables a name means, and what a transaction sees. A database or a
 * role may have other defaults; neither they nor the operator's `options` change these.
 */
export const VALUE_SETTINGS = {
  // Prisma writes times without a zone, as UTC, and reads every zone as UTC (prisma/prisma issues 26786 and 28629).
  timezone: 'UTC',
  datestyle: 'ISO,MDY',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  // The shortest text that reads as the same number.
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  // Prisma writes `public.clients`, statements of ours only `clients`.
  search_path: 'public',
  default_transaction_isolation: 'read committed',
} as const satisfies ServerSettings;

/**
 * Those that a transaction pooler keeps for each client, so that it accepts them as parameters of the startup message.
 * It rejects others.
 */
const { timezone, datestyle, standard_conforming_strings } = VALUE_SETTINGS;
export const POOLED_SETTINGS = { timezone, datestyle, standard_conforming_strings };

/**
 * Every statement of the service has an index for the rows that it reads. Postgres keeps the plans of the hot
 * statements, and would scan a table that was small when it made the plan: the queue, which is empty most of the time,
 * when a backlog fills it (docs/decisions/0007-hot-statements-bypass-prisma.md).
 */
const PLANS = { enable_seqscan: 'off' };

/**
 * A time limit of the database or the role that would end a session between two of its statements.
 * `transaction_timeout` is left to the operator: Postgres 16 and older reject it, and transactions of the service end
 * after 15 s.
 */
const UNLIMITED = { idle_session_timeout: '0' };

/**
 * Settings of every connection of the service and of its commands. Postgres itself ends the work of a vanished or hung
 * process:
 * - a statement after 25 s. The process stops waiting after 20 s (`query_timeout`), and the longest legitimate
 *   statements (a batch of retention, `doctor`, the gauges) take less than a second.
 * - an idle transaction after 30 s. Prisma ends each transaction of the service after 15 s.
 */
export const SERVICE_SETTINGS: ServerSettings = {
  statement_timeout: '25s',
  idle_in_transaction_session_timeout: '30s',
  lock_timeout: '0',
  ...UNLIMITED,
  ...PLANS,
  ...TCP,
};

/**
 * Settings of `migrate`. Statements have no time limit, since building an index may take long. A change of a table that
 * waits for its lock blocks every later statement on that table, so it fails after 5 s. `migrate` may be run again.
 */
export const MIGRATE_SETTINGS: ServerSettings = {
  statement_timeout: '0',
  lock_timeout: '5s',
  idle_in_transaction_session_timeout: '60s',
  ...UNLIMITED,
  ...TCP,
};

/**
 * Adds `settings` and `VALUE_SETTINGS` to the URL's startup options. The operator's own `options` take precedence over
 * `settings`. Of two values of a setting, Postgres takes the last.
 */
export function withServerSettings(url: Secret, settings: ServerSettings): Secret {
  const address = new URL(url.reveal());
  const own = address.searchParams.get('options');
  const options = [optionsOf(settings), ...(own ? [own] : []), optionsOf(VALUE_SETTINGS)];
  // `encodeURIComponent`, since `pg` does not decode a plus as a space everywhere.
  const others = [...address.searchParams].filter(([name]) => name !== 'options');
  const all = [...others, ['options', options.join(' ')]];
  address.search = all.map((pair) => pair.map((part) => encodeURIComponent(part ?? '')).join('=')).join('&');
  return new Secret(address.href);
}

/** `-c a=1 -c b=2`; a space within a value needs a backslash. */
function optionsOf(settings: ServerSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
    .join(' ');
}
