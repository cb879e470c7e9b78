import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  ATTEMPT_ERRORS,
  type AttemptError,
  CHECK_RESULTS,
  type CheckResult,
  DISABLED_BY_SERVICE,
  type DisabledByService,
  TRIGGERS,
  type Trigger,
} from '../vocabulary.js';

/** The metrics of the service. */
export type Metrics = ReturnType<typeof createMetrics>;

const SANDBOX_STEP_ENDS = ['made', 'overtaken'] as const;

export interface CountedAttempt {
  trigger: Trigger;
  error: AttemptError | null;
  durationMs: number;
  /** ms from the event's `created_at` to the start of its first attempt; undefined for any other. */
  delayMs: number | undefined;
}

export interface CountedRequest {
  method: string;
  /** The route's pattern, never the path as sent; undefined: the path has no route. */
  route: string | undefined;
  status: number;
  durationMs: number;
}

/** Connections of a pool, and the statements and transactions that wait for one. */
export type PoolUse = Record<'busy' | 'idle' | 'waiting', number>;

const OUTCOMES = ['success', ...ATTEMPT_ERRORS] as const;
const METHODS = new Set(['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH']);

/** No label holds an id, a host or any other value that a client can choose. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const attempts = counter('webhook_attempts_total', 'Attempts; `outcome` is `success` or the attempt error.', [
    'outcome',
    'trigger',
  ]);
  const attemptDuration = new Histogram({
    name: 'webhook_attempt_duration_seconds',
    help: 'Duration of attempts, from name resolution to the end of the response.',
    labelNames: ['outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20],
    registers,
  });
  const firstAttemptDelay = new Histogram({
    name: 'webhook_first_attempt_delay_seconds',
    help: 'Time from a status change to the start of the first attempt.',
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
    registers,
  });
  const disabled = counter(
    'webhook_endpoints_disabled_total',
    'Endpoints that the service disabled: `gone` (410) or `failing` (`DISABLE_AFTER`).',
    ['reason'],
  );
  const sandboxSteps = counter(
    'sandbox_steps_total',
    'Automatic steps of sandbox transfers: `made`, or `overtaken` by another change.',
    ['result'],
  );
  const checks = counter('receiver_checks_total', 'Completed checks of receivers (sandbox only).', ['result']);
  const missing = counter('webhook_missing_deliveries_total', 'Deliveries that recoveries created for missing events.');
  const skipped = counter(
    'webhook_workflows_skipped_total',
    'Delivered events whose workflow did not start within `WORKFLOWS_TRAIL`.',
  );
  const notifications = counter(
    'notifications_sent_total',
    'Tries to send a notification: `received` (2xx) or `failed`.',
    ['recipient', 'result'],
  );
  const requests = counter('http_requests_total', 'Requests to the API; `route` is the pattern, or `none`.', [
    'method',
    'route',
    'status',
  ]);
  const requestDuration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of requests to the API.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 60],
    registers,
  });
  const inFlight = new Gauge({
    name: 'http_requests_in_flight',
    help: 'Requests in flight in the API.',
    registers,
  });
  const pools = new Map<string, () => PoolUse>();
  new Gauge({
    name: 'database_connections',
    help: 'Connections to Postgres in the pools of this process: `busy` or `idle`.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, read] of pools) {
        const { busy, idle } = read();
        this.set({ pool, state: 'busy' }, busy);
        this.set({ pool, state: 'idle' }, idle);
      }
    },
  });
  new Gauge({
    name: 'database_connection_waiters',
    help: 'Statements and transactions waiting for a connection of a pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, read] of pools) this.set({ pool }, read().waiting);
    },
  });
  const droppedLines = counter('log_lines_dropped_total', 'Log lines that could not be written.');
  // Prometheus sees no increase in a series that begins at 1, so the series of attempts begin at 0.
  for (const outcome of OUTCOMES) for (const trigger of TRIGGERS) attempts.inc({ outcome, trigger }, 0);
  for (const reason of DISABLED_BY_SERVICE) disabled.inc({ reason }, 0);
  for (const result of SANDBOX_STEP_ENDS) sandboxSteps.inc({ result }, 0);
  for (const result of CHECK_RESULTS) checks.inc({ result }, 0);
  const others: (() => Promise<string>)[] = [];
  return {
    registry,
    attemptMade({ trigger, error, durationMs, delayMs }: CountedAttempt): void {
      const outcome = error ?? 'success';
      attempts.inc({ outcome, trigger });
      attemptDuration.observe({ outcome }, durationMs / 1_000);
      // A process knows Postgres's clock to some milliseconds, so the difference may be negative.
      if (delayMs !== undefined) firstAttemptDelay.observe(Math.max(0, delayMs) / 1_000);
    },
    /** A step of a sandbox transfer was made, or another change came first. */
    sandboxStepEnded: (result: (typeof SANDBOX_STEP_ENDS)[number]): void => sandboxSteps.inc({ result }),
    /** The service itself has disabled an endpoint. */
    endpointDisabled: (reason: DisabledByService): void => disabled.inc({ reason }),
    /** A check of a receiver has ended. */
    receiverChecked: (result: CheckResult): void => checks.inc({ result }),
    /** A recovery has made `count` deliveries for events that had none. */
    missingDelivered: (count: number): void => missing.inc(count),
    notificationSent: (recipient: 'operator' | 'client', received: boolean): void =>
      notifications.inc({ recipient, result: received ? 'received' : 'failed' }),
    /** `count` delivered events were marked done without a workflow. */
    workflowsSkipped: (count: number): void => skipped.inc(count),
    requestStarted: (): void => inFlight.inc(),
    requestCompleted({ method, route = 'none', status, durationMs }: CountedRequest): void {
      inFlight.dec();
      const known = METHODS.has(method) ? method : 'other';
      requests.inc({ method: known, route, status });
      requestDuration.observe({ method: known, route }, durationMs / 1_000);
    },
    /** Reports a pool of connections to Postgres at every scrape. */
    poolOpened: (name: string, read: () => PoolUse): void => void pools.set(name, read),
    logLineDropped: (): void => droppedLines.inc(),
    /** Adds the text of another registry to every scrape. */
    append: (read: () => Promise<string>): void => void others.push(read),
    /** All metrics in Prometheus's text format. */
    async text(): Promise<string> {
      const texts = await Promise.all([registry.metrics(), ...others.map((read) => read())]);
      return texts.join('');
    },
  };
}
