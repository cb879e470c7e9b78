import { ConfigError } from './config-error.js';
import { fileVariable, readEnvironment } from './environment.js';
import type { Environment } from './settings.js';

export { readEnvironment } from './environment.js';
export { type Environment, SECRETS, settings, WORKFLOW_MODES, type WorkflowMode } from './settings.js';

/** Whether the operator names a database, so that the embedded stack is not started. */
export function isConfigured(env: NodeJS.ProcessEnv): boolean {
  return ['DATABASE_URL', fileVariable('DATABASE_URL'), 'TEMPORAL_ADDRESS'].some((name) => env[name]);
}

/** The complete configuration of a process: a value is optional only if the service works without it. */
export type Config = ReturnType<typeof loadConfig>;

/**
 * The configuration of a process. The operator or the embedded stack names its dependencies.
 * @throws ConfigError with a line for each validation error and for each setting that is insecure in production
 */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const read = readEnvironment(env);
  const lines: string[] = [];
  const required = <T>(name: string, value: T | undefined, hint: string): T => {
    if (value === undefined) lines.push(`${name}: is not set; ${hint}`);
    return value as T;
  };
  const environment = required('ENVIRONMENT', read.ENVIRONMENT, 'give sandbox or production');
  const databaseUrl = required('DATABASE_URL', read.DATABASE_URL, 'give postgresql://user:password@host:5432/database');
  const temporalAddress = required(
    'TEMPORAL_ADDRESS',
    read.TEMPORAL_ADDRESS,
    'give host:port, such as temporal.internal:7233',
  );
  const baseUrl = required('BASE_URL', baseUrlOf(read), 'give the https address of the API');
  const config = {
    environment,
    databaseUrl,
    /** Past a transaction pooler: for what needs a session of its own. `databaseUrl` where there is no pooler. */
    databaseDirectUrl: read.DATABASE_DIRECT_URL ?? databaseUrl,
    /** Whether `databaseUrl` names a transaction pooler. */
    databasePooled: read.DATABASE_DIRECT_URL !== undefined,
    databasePoolSize: read.DATABASE_POOL_SIZE,
    temporal: temporalAt(temporalAddress, read),
    host: read.HOST,
    port: read.PORT,
    baseUrl,
    authUrl: read.AUTH_URL ?? baseUrl,
    masterKey: required('MASTER_KEY', read.MASTER_KEY, 'give 32 bytes in base64 (openssl rand -base64 32)'),
    masterKeyPrevious: read.MASTER_KEY_PREVIOUS,
    /** ms */
    accessTokenLifetime: read.ACCESS_TOKEN_LIFETIME,
    /** Delays of the retries, ms. */
    retryDelays: read.DELIVERY_RETRY_DELAYS,
    /** ms */
    sandboxStep: read.SANDBOX_STEP,
    /** ms; 0 = never */
    disableAfter: read.DISABLE_AFTER,
    workflows: read.WORKFLOWS,
    /** ms */
    workflowsTrail: read.WORKFLOWS_TRAIL,
    receivers: { allowPrivate: read.ALLOW_PRIVATE_RECEIVERS, blocked: read.BLOCKED_RECEIVERS },
    /** Where the operator is told; undefined: nowhere. */
    notify: notifyOf(read, lines),
    /** CIDRs from which deliveries leave. */
    egressAddresses: read.EGRESS_ADDRESSES,
    allowedNetworks: read.ALLOWED_NETWORKS,
    trustedProxies: read.TRUSTED_PROXIES === 'none' ? [] : read.TRUSTED_PROXIES,
    /**
     * The service speaks HTTP: behind an https: URL is a proxy, whose address all clients have if it is not trusted.
     */
    proxyUnnamed: baseUrl?.startsWith('https:') && read.TRUSTED_PROXIES.length === 0,
    /** Requests per second. */
    rateLimit: read.RATE_LIMIT,
    /** Attempts at once at one endpoint that has no limit of its own, over all workers. */
    endpointConcurrency: read.ENDPOINT_CONCURRENCY,
    /** Attempts at once in one worker, in all and for one client. */
    workerConcurrency: read.WORKER_CONCURRENCY,
    clientConcurrency: read.CLIENT_CONCURRENCY,
    maxEndpoints: read.MAX_ENDPOINTS,
    /** ms */
    retention: read.RETENTION,
    /** ms */
    requestDeadline: read.REQUEST_DEADLINE,
    /** ms */
    shutdownDelay: read.SHUTDOWN_DELAY,
    metrics:
      read.METRICS_PORT === undefined
        ? undefined
        : { port: read.METRICS_PORT, allowedNetworks: read.METRICS_ALLOWED_NETWORKS },
    /** Whether traces are exported. OpenTelemetry reads its other variables itself. */
    tracing:
      (read.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? read.OTEL_EXPORTER_OTLP_ENDPOINT) !== undefined &&
      !read.OTEL_SDK_DISABLED &&
      read.OTEL_TRACES_EXPORTER.includes('otlp'),
    sampling: samplingOf(read),
    logLevel: read.LOG_LEVEL,
  };
  if (environment === 'production') lines.push(...insecureIn(config));
  if (lines.length > 0) throw new ConfigError(lines);
  return config;
}

/** Both settings or neither. Its address is judged when a POST connects. */
function notifyOf(read: Environment, lines: string[]) {
  const { NOTIFY_URL: url, NOTIFY_SECRET: secret, NOTIFY_ALLOW_PRIVATE: allowPrivate } = read;
  if (url === undefined && secret === undefined) return undefined;
  if (url === undefined || secret === undefined) {
    const [missing, given] = url === undefined ? ['NOTIFY_URL', 'NOTIFY_SECRET'] : ['NOTIFY_SECRET', 'NOTIFY_URL'];
    lines.push(`${missing}: is not set; give both ${missing} and ${given}, or neither`);
    return undefined;
  }
  if (read.ENVIRONMENT === 'production' && !allowPrivate && !/^https:/i.test(url.reveal())) {
    lines.push('NOTIFY_URL: is http: in production; give an https: URL, or set NOTIFY_ALLOW_PRIVATE=true');
  }
  return { url, secret, allowPrivate };
}

function samplingOf({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio = 1 }: Environment) {
  const share = sampler.endsWith('always_off') ? 0 : sampler.endsWith('ratio') ? ratio : 1;
  return { share, followsParent: !sampler.startsWith('always_') };
}

/** The public URL of the API; undefined in production where BASE_URL is not set. */
export function baseUrlOf({ ENVIRONMENT, BASE_URL, PORT }: Environment): string | undefined {
  return BASE_URL ?? (ENVIRONMENT === 'production' ? undefined : `http://localhost:${PORT}`);
}

export const PROXY_UNNAMED =
  "TRUSTED_PROXIES: is empty but BASE_URL is https:, so all clients have the proxy's address and share its limits; give the CIDRs of your proxies, or none if there is no proxy";

/** The settings that production must not start with. A missing one is reported already. */
function insecureIn(
  config: Pick<Config, 'baseUrl' | 'authUrl' | 'masterKey' | 'receivers' | 'proxyUnnamed'>,
): string[] {
  const lines: string[] = [];
  if (config.baseUrl?.startsWith('http:')) lines.push('BASE_URL: is http: in production; give an https: address');
  if (config.authUrl?.startsWith('http:')) lines.push('AUTH_URL: is http: in production; give an https: address');
  if (config.masterKey && isWellKnown(config.masterKey.reveal())) {
    lines.push('MASTER_KEY: is easy to guess; make a random key (openssl rand -base64 32)');
  }
  if (config.receivers.allowPrivate) {
    lines.push('ALLOW_PRIVATE_RECEIVERS: is true in production; it is for the sandbox only');
  }
  if (config.proxyUnnamed) lines.push(PROXY_UNNAMED);
  return lines;
}

/** 32 random bytes have 30 distinct values on average, and fewer than 16 in one of 10^16 keys. */
const LEAST_DISTINCT_BYTES = 16;

/**
 * Whether a key is easy to guess: few distinct bytes, a count, or text. 32 random bytes are text in one of 10^13 keys.
 * MASTER_KEY_PREVIOUS is not checked: it only opens existing envelopes, and a weak key must remain replaceable.
 */
function isWellKnown(key: Uint8Array): boolean {
  if (new Set(key).size < LEAST_DISTINCT_BYTES) return true;
  const step = ((key[1] ?? 0) - (key[0] ?? 0)) & 0xff;
  const regular = key.every((byte, i) => i === 0 || ((byte - (key[i - 1] ?? 0)) & 0xff) === step);
  return regular || key.every((byte) => byte >= 0x20 && byte <= 0x7e);
}

/** How to speak TLS; false for a plaintext connection. An API key, a certificate or a server name implies TLS. */
function readTls(settings: Environment) {
  const { TEMPORAL_TLS, TEMPORAL_API_KEY, TEMPORAL_TLS_SERVER_NAME: serverName } = settings;
  const { TEMPORAL_TLS_SERVER_CA_CERT_DATA: serverCa } = settings;
  const { TEMPORAL_TLS_CLIENT_CERT_DATA: certificate, TEMPORAL_TLS_CLIENT_KEY_DATA: key } = settings;
  if (Boolean(certificate) !== Boolean(key)) {
    throw new ConfigError([
      'TEMPORAL_TLS_CLIENT_CERT_…, TEMPORAL_TLS_CLIENT_KEY_…: one is set without the other; give both',
    ]);
  }
  if (!(TEMPORAL_TLS || TEMPORAL_API_KEY || serverName || serverCa || certificate)) return false as const;
  return {
    /** The name that the server's certificate must have; undefined: the host of the address. */
    serverName,
    /** The CAs of the server's certificate, PEM; undefined: those of the system. */
    serverCa,
    client: certificate && key && { certificate, key },
  };
}

/** How to connect to Temporal. `retention` is of ended workflows, ms. */
export type TemporalConfig = ReturnType<typeof temporalAt>;
/** How to connect to Temporal with TLS. */
export type TemporalTls = Exclude<TemporalConfig['tls'], false>;

/** The connection settings for Temporal at `address`, host:port. */
export function temporalAt(address: string, read: Environment) {
  const { TEMPORAL_NAMESPACE: namespace, TEMPORAL_RETENTION: retention, TEMPORAL_API_KEY: apiKey } = read;
  return { address, namespace, retention, tls: readTls(read), apiKey };
}
