import type { WorkflowMode } from './config/deliveries.js';
import { type Environment, readEnvironment } from './config/environment.js';
import { insecureIn } from './config/insecure.js';
import { type TemporalConfig, temporalFrom } from './config/temporal.js';
import { ConfigError } from './config-error.js';
import type { Secret } from './secret.js';
import { sourceVariables } from './secret-sources.js';

export { WORKFLOW_MODES, type WorkflowMode } from './config/deliveries.js';
export { type Environment, readEnvironment, SECRETS, settings } from './config/environment.js';
export { temporalAt } from './config/temporal.js';

/**
 * The complete configuration of a process: dependencies are named, and a value is optional only if the contract says
 * so.
 */
export interface Config {
  environment: 'sandbox' | 'production';
  databaseUrl: Secret;
  /** Past a transaction pooler: for what needs a session of its own. `databaseUrl` where there is no pooler. */
  databaseDirectUrl: Secret;
  /** Whether `databaseUrl` names a transaction pooler. */
  databasePooled: boolean;
  databasePoolSize: number;
  temporal: TemporalConfig;
  host: string;
  port: number;
  baseUrl: string;
  authUrl: string;
  masterKey: Secret<Uint8Array>;
  masterKeyPrevious: Secret<Uint8Array> | undefined;
  /** ms */
  accessTokenLifetime: number;
  /** Delays of the retries, ms. */
  retryDelays: readonly number[];
  /** ms */
  sandboxStep: number;
  /** ms; 0 = never */
  disableAfter: number;
  workflows: WorkflowMode;
  /** ms */
  workflowsTrail: number;
  receivers: { allowPrivate: boolean; blocked: readonly string[] };
  /** CIDRs from which deliveries leave. */
  egressAddresses: readonly string[];
  allowedNetworks: readonly string[];
  trustedProxies: readonly string[];
  /** Requests per second. */
  rateLimit: number;
  /** Attempts at once at one endpoint that has no limit of its own, over all workers. */
  endpointConcurrency: number;
  maxEndpoints: number;
  /** ms */
  retention: number;
  /** ms */
  requestDeadline: number;
  /** ms */
  shutdownDelay: number;
  metrics: { port: number; allowedNetworks: readonly string[] } | undefined;
  /** Whether a collector for traces is configured. OpenTelemetry reads its other variables itself. */
  tracing: boolean;
  logLevel: Environment['LOG_LEVEL'];
}

/** Whether the operator names a database, so that the embedded stack is not started. */
export function isConfigured(env: NodeJS.ProcessEnv): boolean {
  return ['DATABASE_URL', ...sourceVariables('DATABASE_URL'), 'TEMPORAL_ADDRESS'].some((name) => env[name]);
}

/**
 * The configuration of a process. The operator or the embedded stack names its dependencies.
 * @throws ConfigError with a line for each validation error and for each setting that is insecure in production
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const read = readEnvironment(env);
  const lines: string[] = [];
  const required = <T>(name: string, value: T | undefined, hint: string): T => {
    if (value === undefined) lines.push(`${name}: is not set; ${hint}`);
    return value as T;
  };
  const environment = required('ENVIRONMENT', read.ENVIRONMENT, 'give sandbox or production');
  const production = environment === 'production';
  const databaseUrl = required('DATABASE_URL', read.DATABASE_URL, 'give postgresql://user:password@host:5432/database');
  const config: Config = {
    environment,
    databaseUrl,
    databaseDirectUrl: read.DATABASE_DIRECT_URL ?? databaseUrl,
    databasePooled: read.DATABASE_DIRECT_URL !== undefined,
    databasePoolSize: read.DATABASE_POOL_SIZE,
    temporal: temporalFrom(
      required('TEMPORAL_ADDRESS', read.TEMPORAL_ADDRESS, 'give host:port, such as temporal.internal:7233'),
      read,
      lines,
    ),
    host: read.HOST,
    port: read.PORT,
    baseUrl: required('BASE_URL', baseUrlOf(read), 'give the https address of the API'),
    authUrl: '',
    masterKey: required('MASTER_KEY', read.MASTER_KEY, 'give 32 bytes in base64 (openssl rand -base64 32)'),
    masterKeyPrevious: read.MASTER_KEY_PREVIOUS,
    accessTokenLifetime: read.ACCESS_TOKEN_LIFETIME,
    retryDelays: read.DELIVERY_RETRY_DELAYS,
    sandboxStep: read.SANDBOX_STEP,
    disableAfter: read.DISABLE_AFTER,
    workflows: read.WORKFLOWS,
    workflowsTrail: read.WORKFLOWS_TRAIL,
    receivers: { allowPrivate: read.ALLOW_PRIVATE_RECEIVERS, blocked: read.BLOCKED_RECEIVERS },
    egressAddresses: read.EGRESS_ADDRESSES,
    allowedNetworks: read.ALLOWED_NETWORKS,
    trustedProxies: read.TRUSTED_PROXIES,
    rateLimit: read.RATE_LIMIT,
    endpointConcurrency: read.ENDPOINT_CONCURRENCY,
    maxEndpoints: read.MAX_ENDPOINTS,
    retention: read.RETENTION,
    requestDeadline: read.REQUEST_DEADLINE,
    shutdownDelay: read.SHUTDOWN_DELAY,
    metrics:
      read.METRICS_PORT === undefined
        ? undefined
        : { port: read.METRICS_PORT, allowedNetworks: read.METRICS_ALLOWED_NETWORKS },
    tracing: (read.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? read.OTEL_EXPORTER_OTLP_ENDPOINT) !== undefined,
    logLevel: read.LOG_LEVEL,
  };
  config.authUrl = read.AUTH_URL ?? config.baseUrl;
  if (production) lines.push(...insecureIn(config));
  if (lines.length > 0) throw new ConfigError(lines);
  return config;
}

/** The public URL of the API; undefined in production where BASE_URL is not set. */
export function baseUrlOf({ ENVIRONMENT, BASE_URL, PORT }: Environment): string | undefined {
  return BASE_URL ?? (ENVIRONMENT === 'production' ? undefined : `http://localhost:${PORT}`);
}
