/** At most `amount` in any `seconds`, or at the same time if `seconds` is undefined. */
export interface Limit {
  what: string;
  /** Who is counted. */
  of: string;
  /** How uses are counted, if not one by one. */
  note?: string;
  amount: number;
  seconds: number | undefined;
  /** The problem code of the 429, or of the 409 for what runs at the same time. */
  code: string;
  /** Where it is counted: each process counts for itself, or Postgres counts for all. */
  in: 'process' | 'Postgres';
}

const [SECOND, MINUTE, HOUR] = [1, 60, 3_600];
/** A limit that Postgres counts for all processes. */
const limit = <Seconds extends number | undefined>(
  amount: number,
  what: string,
  of: string,
  seconds: Seconds,
  code = 'rate_limited',
) => ({ what, of, amount, seconds, code, in: 'Postgres' as const });
const STATEMENTS = 'requests for a statement, missing events or a recovery';

/** Every limit with a fixed amount. `RATE_LIMIT` and other limits are settings. */
export const LIMITS = {
  documents: { ...limit(20, 'documents without a token', 'an address', SECOND), in: 'process' },
  tokens: { ...limit(20, 'tokens', 'a client', SECOND), in: 'process' },
  failedAuthentications: limit(100, 'failed authentications', 'an address', MINUTE),
  signIns: limit(60, 'sign-ins to the console', 'a client', MINUTE),
  signInLinks: limit(20, 'open sign-in links', 'a client', undefined, 'console_link_limit_reached'),
  statements: limit(20, STATEMENTS, 'a client', MINUTE, 'statement_limit_reached'),
  statementsAtOnce: limit(1, STATEMENTS, 'a client', undefined, 'statement_limit_reached'),
  explanations: limit(30, 'explanations of a signature', 'a client', MINUTE),
  retries: limit(10, 'manual retries', 'a delivery', HOUR, 'retry_limit_reached'),
  recoveries: limit(10, 'recoveries', 'an endpoint', HOUR, 'recover_limit_reached'),
  recoveriesAtOnce: limit(2, 'running recoveries', 'a client', undefined, 'recover_in_progress'),
  checks: limit(10, 'checks', 'a client', MINUTE, 'check_limit_reached'),
  checksOfEndpoint: limit(1, 'checks', 'an endpoint', 10, 'check_limit_reached'),
  checksAtOnce: limit(2, 'checks', 'a client', undefined, 'check_in_progress'),
  sandboxTransfers: limit(10, 'simulated transfers', 'a client', SECOND, 'sandbox_limit_reached'),
  unfinishedSandboxTransfers: limit(
    1_000,
    'unfinished simulated transfers',
    'a client',
    undefined,
    'sandbox_limit_reached',
  ),
} satisfies Record<string, Limit>;

/** A limit with a window. */
export type Rate = Limit & { seconds: number };

const PERIODS: Readonly<Record<number, string>> = { 1: 'a second', 60: 'a minute', 3600: 'an hour' };

/** A window in words: `an hour`. */
export const periodOf = (seconds: number | undefined): string =>
  seconds === undefined ? 'at the same time' : (PERIODS[seconds] ?? `in ${seconds} s`);

/** A limit in words: `10 manual retries per hour per delivery`. */
export function describeLimit({ what, of, note, amount, seconds }: Limit): string {
  const uses = `${amount.toLocaleString('en')} ${amount === 1 ? what.replace(/s\b/, '') : what}`;
  const period = seconds === undefined ? 'at a time' : periodOf(seconds).replace(/^(a|an|in) /, 'per ');
  return `${uses} ${period} per ${of.replace(/^an? /, '')}${note ? ` (${note})` : ''}`;
}

export const MAX_WINDOW_DAYS = 31;
/** The longest window whose events are counted or compared, ms. */
const MAX_WINDOW = MAX_WINDOW_DAYS * 86_400_000;
/**
 * Allowance for a window that ends at the request, ms: a client that computes a start 31 days ago reads its clock
 * before the service does.
 */
const CLOCK_ALLOWANCE = 10_000;

/**
 * Whether [since, until) is longer than the longest window. Times are ms since 1970.
 * @param until undefined: `now`, by Postgres's clock
 */
export function isTooLong({ since, until }: { since: number; until?: number | undefined }, now: number): boolean {
  return until === undefined ? now - since > MAX_WINDOW + CLOCK_ALLOWANCE : until - since > MAX_WINDOW;
}
