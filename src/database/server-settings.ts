import { Secret } from '../secret.js';

/** Settings of Postgres that a connection begins with, by their own names. */
export type ServerSettings = Readonly<Record<string, string>>;

/** A machine that vanished is noticed after a minute of silence, and its locks are free. */
const TCP = {
  tcp_keepalives_idle: '30s',
  tcp_keepalives_interval: '10s',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '60s',
};

/**
 * Of every connection of the service and of its commands. Postgres itself ends what a vanished or hung process has left:
 * - a statement after 25 s: the process has given it up after 20 s (`query_timeout`), and the longest legitimate ones
 *   (a batch of retention, `doctor`, the gauges) take less than a second.
 * - a transaction in which nothing happens after 30 s: Prisma ends each of ours after 15 s.
 */
export const SERVICE_SETTINGS: ServerSettings = {
  statement_timeout: '25s',
  idle_in_transaction_session_timeout: '30s',
  ...TCP,
};

/**
 * Of `migrate`: building an index takes as long as it takes. A change of a table that waits for its lock makes everybody
 * behind it wait, so it gives up after 5 s; `migrate` may be run again.
 */
export const MIGRATE_SETTINGS: ServerSettings = {
  statement_timeout: '0',
  lock_timeout: '5s',
  idle_in_transaction_session_timeout: '60s',
  ...TCP,
};

/** The address with `settings` among its startup options; an `options` of the operator's own comes last, and so wins. */
export function withServerSettings(url: Secret, settings: ServerSettings): Secret {
  const address = new URL(url.reveal());
  const own = address.searchParams.get('options');
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  // As a query component: `pg` does not take a plus for a space everywhere.
  const others = [...address.searchParams].filter(([name]) => name !== 'options');
  const all = [...others, ['options', [...options, ...(own ? [own] : [])].join(' ')]];
  address.search = all.map((pair) => pair.map((part) => encodeURIComponent(part ?? '')).join('=')).join('&');
  return new Secret(address.href);
}
