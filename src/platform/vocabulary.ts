/**
 * Why an attempt failed:
 * - `dns`: the name was not resolved, in time or at all
 * - `refused`: no connection: refused, or no route to the address
 * - `tls`: no trusted TLS connection: unknown issuer, other host, expired, or no TLS at all
 * - `timeout`: not connected within 5 s, or no response within 15 s
 * - `reset`: the connection broke before the head of the response was complete
 * - `protocol`: the response is not HTTP, its head is larger than 16 KiB, or more than 8 informational (1xx) responses
 *   preceded it
 * - `blocked_address`: the guard forbids an address of the receiver
 * - `redirect`: a 3xx, which is never followed
 * - `status`: any other response that is not 2xx
 */
export const ATTEMPT_ERRORS = [
  'dns',
  'refused',
  'tls',
  'timeout',
  'reset',
  'protocol',
  'blocked_address',
  'redirect',
  'status',
] as const;

export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** Version of the format of events and of notifications. */
export const EVENT_VERSION = '2026-11-21';

/** What the operator is told, and a client about its own endpoints. */
export const NOTIFICATION_TYPES = [
  'endpoint.failing',
  'endpoint.disabled',
  'endpoint.recovered',
  'deliveries.ending',
  'workflows.behind',
] as const;
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

/** The trigger of an attempt: the ladder, a manual retry, or the ladder of a recovery. */
export const TRIGGERS = ['schedule', 'manual', 'recover'] as const;

export type Trigger = (typeof TRIGGERS)[number];

/**
 * Number of attempts that a single delivery is shown with. Each may have 4 KiB of a receiver's response, 24 KiB as
 * JSON.
 */
export const SHOWN_ATTEMPTS = 20;

/** The largest limit of attempts at once at one endpoint. */
export const MAX_CONCURRENCY = 100;
/** The largest limit of attempts started in a second at one endpoint. */
export const MAX_PER_SECOND = 1_000;

/** The largest number of headers that an endpoint's owner adds. */
export const MAX_HEADERS = 5;

/** The bounds of a client's own `rate_limit`, requests a second, and of its `max_endpoints`. */
export const RATE_LIMITS = { min: 1, max: 10_000 } as const;
export const ENDPOINT_LIMITS = { min: 0, max: 1_000 } as const;

/** Why an endpoint is disabled. */
export const DISABLED_REASONS = ['owner', 'operator', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/**
 * The reasons for which the service itself disables: the receiver responded 410, or had no success for `DISABLE_AFTER`.
 */
export const DISABLED_BY_SERVICE = ['gone', 'failing'] as const satisfies readonly DisabledReason[];
export type DisabledByService = (typeof DISABLED_BY_SERVICE)[number];

/** The requests of a check of a receiver, which the client package sends too. */
export { CHECK_CASE_NAMES, CHECK_CASES, type CheckCase } from '../../clients/typescript/src/check/cases.js';

/** The results of a check. */
export const CHECK_RESULTS = ['passed', 'failed'] as const;
export type CheckResult = (typeof CHECK_RESULTS)[number];

/** The states of a recovery. */
export const RECOVERY_STATUSES = ['running', 'completed', 'cancelled'] as const;

/** The states of a check. */
export const CHECK_STATUSES = ['running', ...CHECK_RESULTS] as const;
