/**
 * Why an attempt failed (contract, Events and deliveries):
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
