import { Counter, Histogram, Registry } from 'prom-client';
import { ATTEMPT_ERRORS, type AttemptError, TRIGGERS, type Trigger } from '../attempts.js';
import { DISABLED_BY_SERVICE, type DisabledByService } from '../disabled-reasons.js';

/** What the service counts as it goes. No label holds an id, a host or anything else a client can make up. */
export interface Metrics {
  registry: Registry;
  attemptMade(attempt: CountedAttempt): void;
  /** The service itself has disabled an endpoint. */
  endpointDisabled(reason: DisabledByService): void;
  requestAnswered(request: CountedRequest): void;
  /** Adds the text of a registry that is not ours to every scrape. */
  append(read: () => Promise<string>): void;
  /** All of it in Prometheus's text format. */
  text(): Promise<string>;
}

export interface CountedAttempt {
  trigger: Trigger;
  error: AttemptError | null;
  durationMs: number;
  /** ms from the event's `created_at` to the start of its first attempt; undefined for any other. */
  delayMs: number | undefined;
}

export interface CountedRequest {
  method: string;
  /** The route's pattern, never the path as sent; undefined: no route of ours. */
  route: string | undefined;
  status: number;
  durationMs: number;
}

const OUTCOMES = ['success', ...ATTEMPT_ERRORS] as const;
const METHODS = new Set(['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH']);

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts made, by what came of them (`success`, or why not) and what asked for them.',
    labelNames: ['outcome', 'trigger'],
    registers,
  });
  const attemptDuration = new Histogram({
    name: 'webhook_attempt_duration_seconds',
    help: 'How long attempts took, from name resolution to the end of the answer.',
    labelNames: ['outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20],
    registers,
  });
  const firstAttemptDelay = new Histogram({
    name: 'webhook_first_attempt_delay_seconds',
    help: "From a change of status (the event's `created_at`) to the start of the first attempt.",
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
    registers,
  });
  const disabled = new Counter({
    name: 'webhook_endpoints_disabled_total',
    help: 'Endpoints that the service disabled: `gone` (the receiver answered 410) or `failing` (`DISABLE_AFTER`).',
    labelNames: ['reason'],
    registers,
  });
  const requests = new Counter({
    name: 'http_requests_total',
    help: "Requests to the API by method, route's pattern (`none`: no route) and status; token requests and rate limiting (429) are among them.",
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const requestDuration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'How long requests to the API took, by method and route.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  // A series that begins with its first failure shows no increase for it: those of attempts begin at 0.
  for (const outcome of OUTCOMES) for (const trigger of TRIGGERS) attempts.inc({ outcome, trigger }, 0);
  for (const reason of DISABLED_BY_SERVICE) disabled.inc({ reason }, 0);
  const others: (() => Promise<string>)[] = [];
  return {
    registry,
    attemptMade({ trigger, error, durationMs, delayMs }) {
      const outcome = error ?? 'success';
      attempts.inc({ outcome, trigger });
      attemptDuration.observe({ outcome }, durationMs / 1_000);
      // Two machines' clocks: the difference may come out below nothing.
      if (delayMs !== undefined) firstAttemptDelay.observe(Math.max(0, delayMs) / 1_000);
    },
    endpointDisabled: (reason) => disabled.inc({ reason }),
    requestAnswered({ method, route = 'none', status, durationMs }) {
      const known = METHODS.has(method) ? method : 'other';
      requests.inc({ method: known, route, status });
      requestDuration.observe({ method: known, route }, durationMs / 1_000);
    },
    append: (read) => void others.push(read),
    async text() {
      const texts = await Promise.all([registry.metrics(), ...others.map((read) => read())]);
      return texts.join('');
    },
  };
}
