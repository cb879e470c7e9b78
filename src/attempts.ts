/**
 * Why an attempt failed (contract, Events and deliveries):
 * - `dns`: the name was not resolved, in time or at all
 * - `refused`: no connection: refused, or no route to the address
 * - `tls`: no trusted TLS connection: unknown issuer, other host, expired, or no TLS at all
 * - `timeout`: not connected within 5 s, or no answer within 15 s
 * - `reset`: the connection broke before the answer's head was complete
 * - `protocol`: the answer is no HTTP, its head is larger than 16 KiB, or more than 8 informational (1xx) answers came
 *   before it
 * - `blocked_address`: the guard forbids an address of the receiver
 * - `redirect`: a 3xx, which is never followed
 * - `status`: any other answer that is no 2xx
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

/** What asks for an attempt: its ladder, a retry by hand, or the ladder that a recover begins again. */
export const TRIGGERS = ['schedule', 'manual', 'recover'] as const;

export type Trigger = (typeof TRIGGERS)[number];
