import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigError } from './config-error.js';
import { formatDuration, parseDuration } from './duration.js';
import { MAX_CONCURRENCY } from './max-concurrency.js';
import { isNetwork } from './networks.js';
import { Secret } from './secret.js';
import { fileVariable, withSecretFiles } from './secret-files.js';
import { readTemporalTls, type TemporalTls } from './temporal-tls.js';

const port = z.coerce
  .number({ error: 'give a whole number from 0 to 65535 (0 picks a free port)' })
  .int('give a whole number from 0 to 65535 (0 picks a free port)')
  .min(0, 'give a whole number from 0 to 65535 (0 picks a free port)')
  .max(65_535, 'give a whole number from 0 to 65535 (0 picks a free port)');

const count = (min: number, max: number) =>
  z.coerce
    .number({ error: `give a whole number from ${min} to ${max}` })
    .int(`give a whole number from ${min} to ${max}`)
    .min(min, `give a whole number from ${min} to ${max}`)
    .max(max, `give a whole number from ${min} to ${max}`);

const duration = z.string().transform((text, context) => {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) {
    context.addIssue({ code: 'custom', message: 'give a duration such as 30s, 5m, 2h or 90d' });
    return z.NEVER;
  }
  return milliseconds;
});

const SECOND = 1_000;
const DAY = 86_400_000;

/** A duration with bounds, such as a lifetime: none and endless are both invalid. @param min in ms, as is `max` */
const durationWithin = (min: number, max: number) =>
  duration.refine(
    (milliseconds) => milliseconds >= min && milliseconds <= max,
    `give a duration from ${formatDuration(min)} to ${formatDuration(max)}`,
  );

const flag = z.enum(['true', 'false'], { error: 'give true or false' }).transform((text) => text === 'true');

const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const networks = z.string().transform((text, context) => {
  const cidrs = list(text);
  for (const cidr of cidrs) {
    if (!isNetwork(cidr)) {
      context.addIssue({
        code: 'custom',
        message: `${cidr} is not a network; give CIDRs such as 10.0.0.0/8,2001:db8::/32`,
      });
      return z.NEVER;
    }
  }
  return cidrs;
});

const delays = z.string().transform((text, context) => {
  const parsed = list(text).map(parseDuration);
  if (parsed.length > 50 || parsed.some((delay) => delay === undefined)) {
    context.addIssue({
      code: 'custom',
      message: 'give at most 50 durations, such as 0s,5m,30m,2h,6h,24h',
    });
    return z.NEVER;
  }
  return parsed as number[];
});

const masterKey = z.string().transform((text, context) => {
  const bytes = Buffer.from(text, 'base64');
  // Node skips characters that are not base64 and stops at the padding, so a truncated or concatenated key would pass.
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) {
    context.addIssue({ code: 'custom', message: 'give 32 bytes in base64 (openssl rand -base64 32)' });
    return z.NEVER;
  }
  return new Secret<Uint8Array>(bytes);
});

const origin = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The URL is compared as text with the audience that clients send, so it must have the URL standard's spelling.
  const good =
    url &&
    /^https?:$/.test(url.protocol) &&
    text === url.origin + url.pathname.replace(/\/$/, '') &&
    !text.endsWith('/');
  if (!good) {
    context.addIssue({
      code: 'custom',
      message: 'give an absolute http(s) URL in lower case with no trailing slash, such as https://api.example.com',
    });
    return z.NEVER;
  }
  return text;
});

const address = z
  .string()
  .refine(
    (text) => /^([^\s:/]+|\[[0-9a-fA-F:]+\]):\d{1,5}$/.test(text) && URL.canParse(`http://${text}`),
    'give host:port, such as temporal.internal:7233',
  );

const collector = z
  .string()
  .refine(
    (text) => /^https?:\/\//.test(text) && URL.canParse(text),
    'give an http(s) URL, such as http://localhost:4318',
  );

/** The samplers of OpenTelemetry's SDK. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'give a URL such as postgresql://user:password@host:5432/database')
  .refine((text) => URL.canParse(text), 'give a URL such as postgresql://user:password@host:5432/database')
  .transform((text) => new Secret(text));

const secretText = z.string().transform((text) => new Secret(text));

/** The events that get a workflow: every event, or only events with deliveries pending after their first attempts. */
export const WORKFLOW_MODES = ['every-event', 'retries-only'] as const;
export type WorkflowMode = (typeof WORKFLOW_MODES)[number];

/**
 * Every environment variable: its form, its default (as text) and its meaning. The README's table is made from this.
 */
export const settings = {
  ENVIRONMENT: setting(
    z.enum(['sandbox', 'production'], { error: 'give sandbox or production' }),
    undefined,
    'Kind of this deployment: `sandbox` or `production`. Required with `DATABASE_URL`; the embedded stack is `sandbox`.',
  ),
  DATABASE_URL: secretSetting(postgresUrl, 'URL of Postgres. Unset: the embedded stack.'),
  DATABASE_DIRECT_URL: secretSetting(
    postgresUrl,
    'URL of the same database past a transaction pooler, for `migrate`, notifications and locks. Set it only if `DATABASE_URL` names a pooler.',
  ),
  DATABASE_RUNTIME_ROLE: setting(
    z.string().min(1).max(63, 'give the name of a role, at most 63 characters'),
    undefined,
    'Role of `DATABASE_URL`, to which `migrate` grants the rights of a running service. Unset: `migrate` grants nothing.',
  ),
  DATABASE_POOL_SIZE: setting(
    count(2, 500),
    '10',
    'Connections to Postgres for each role. `start` runs two roles in one process and opens this many for each.',
  ),
  TEMPORAL_ADDRESS: setting(address, undefined, "Temporal's frontend, host:port. Unset: the embedded stack."),
  TEMPORAL_NAMESPACE: setting(
    z.string().regex(/^[A-Za-z0-9._-]{2,100}$/, 'give 2 to 100 letters, digits, dots, underscores or dashes'),
    'transfer-service',
    'Temporal namespace. Each environment needs its own.',
  ),
  TEMPORAL_RETENTION: setting(
    durationWithin(3_600 * SECOND, 3_650 * DAY),
    '30d',
    "Retention of the namespace: how long Temporal's UI shows an ended workflow. `migrate` sets it.",
  ),
  TEMPORAL_TLS: setting(flag, 'false', 'Connect to Temporal with TLS. The variables below imply it.'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: setting(
    z.string(),
    undefined,
    "PEM file of the CA of Temporal's certificate. Unset: the system's CAs.",
  ),
  TEMPORAL_TLS_SERVER_CA_CERT_DATA: setting(secretText, undefined, 'The same, as the content of the file.'),
  TEMPORAL_TLS_SERVER_NAME: setting(
    z.string().regex(/^[A-Za-z0-9.-]{1,253}$/, 'give a host name, such as temporal.internal'),
    undefined,
    "Name in Temporal's certificate. Unset: the host of `TEMPORAL_ADDRESS`.",
  ),
  TEMPORAL_TLS_CLIENT_CERT_PATH: setting(z.string(), undefined, 'PEM file of the client certificate (mTLS).'),
  TEMPORAL_TLS_CLIENT_CERT_DATA: setting(secretText, undefined, 'The same, as the content of the file.'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: setting(z.string(), undefined, "PEM file of the client certificate's private key."),
  TEMPORAL_TLS_CLIENT_KEY_DATA: setting(secretText, undefined, 'The same, as the content of the file.'),
  TEMPORAL_API_KEY: secretSetting(secretText, 'API key that Temporal asks for.'),
  HOST: setting(z.string().min(1), '0.0.0.0', 'Address that the API listens on (embedded stack: 127.0.0.1).'),
  PORT: setting(port, '3000', 'Port of the API. 0 picks a free port.'),
  BASE_URL: setting(
    origin,
    undefined,
    'Public URL of the API, which is also the audience of the tokens (sandbox default: http://localhost:PORT).',
  ),
  AUTH_URL: setting(
    origin,
    undefined,
    'Public URL of the token endpoint, which is also the issuer of the tokens (default: BASE_URL).',
  ),
  MASTER_KEY: secretSetting(masterKey, '32 bytes in base64 that encrypt the secrets at rest.'),
  MASTER_KEY_PREVIOUS: secretSetting(masterKey, 'The previous master key, until `keys rotate-master` has finished.'),
  ACCESS_TOKEN_LIFETIME: setting(durationWithin(SECOND, DAY), '1h', 'Lifetime of an access token.'),
  DELIVERY_RETRY_DELAYS: setting(
    delays,
    '0s,5m,30m,2h,6h,24h',
    'The ladder: delays of the retries after the first attempt.',
  ),
  SANDBOX_STEP: setting(
    durationWithin(100, DAY),
    '2s',
    'Time between the automatic steps of a transfer to a `SANDBOX-…` account. Sandbox only.',
  ),
  DISABLE_AFTER: setting(
    duration,
    '5d',
    'An endpoint is disabled after this long without a success, if at least two deliveries are exhausted. 0: never.',
  ),
  WORKFLOWS: setting(
    z.enum(WORKFLOW_MODES, { error: `give ${WORKFLOW_MODES.join(' or ')}` }),
    'every-event',
    'Events that get a workflow: every event, or only events with a delivery that is pending after its first attempt.',
  ),
  WORKFLOWS_TRAIL: setting(
    durationWithin(SECOND, 3_650 * DAY),
    '1h',
    'With `every-event`, a delivered event that is older than this and whose workflow has not started gets none.',
  ),
  ALLOW_PRIVATE_RECEIVERS: setting(flag, 'false', 'Deliver to private addresses. Sandbox only (embedded stack: true).'),
  BLOCKED_RECEIVERS: setting(
    networks,
    '',
    "CIDRs that the service never delivers to, in addition to private networks: the operator's own public addresses.",
  ),
  EGRESS_ADDRESSES: setting(
    networks,
    '',
    'CIDRs that deliveries are sent from, for receivers that admit known addresses only. `GET /meta` shows them.',
  ),
  ALLOWED_NETWORKS: setting(networks, '', 'CIDRs that may connect to the API. Empty: any address.'),
  TRUSTED_PROXIES: setting(networks, '', 'CIDRs of the proxies whose `X-Forwarded-For` the API trusts.'),
  RATE_LIMIT: setting(count(1, 1_000_000), '100', 'Requests per second, for each client and process.'),
  ENDPOINT_CONCURRENCY: setting(
    count(1, MAX_CONCURRENCY),
    '10',
    'Attempts at once at one endpoint, over all workers. An endpoint may have its own `max_concurrency`.',
  ),
  MAX_ENDPOINTS: setting(count(1, 10_000), '20', 'Webhook endpoints that a client may have.'),
  RETENTION: setting(durationWithin(SECOND, 3_650 * DAY), '90d', 'How long events, deliveries and attempts are kept.'),
  SHUTDOWN_DELAY: setting(
    durationWithin(0, 300 * SECOND),
    '5s',
    'How long the API goes on serving after SIGTERM, unready, so that load balancers stop sending first (embedded stack: 0s).',
  ),
  METRICS_PORT: setting(
    port,
    undefined,
    "Port of `/metrics`, `/healthz` and `/readyz` of any role, for the operator's own machines. Unset: no port.",
  ),
  METRICS_ALLOWED_NETWORKS: setting(networks, '127.0.0.0/8,::1/128', 'CIDRs that may connect to `METRICS_PORT`.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    collector,
    undefined,
    "OTLP/HTTP URL of the OpenTelemetry collector that receives the traces, such as http://localhost:4318. Unset: no traces. OpenTelemetry's other `OTEL_…` variables apply too.",
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    collector,
    undefined,
    'The same with the full path, such as http://localhost:4318/v1/traces.',
  ),
  OTEL_TRACES_SAMPLER: setting(
    z.enum(SAMPLERS, { error: `give ${SAMPLERS.join(', ')}` }),
    'parentbased_always_on',
    'Sampler of the traces. `parentbased_traceidratio` keeps a share of them.',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(
    z.coerce
      .number({ error: 'give a share from 0 to 1' })
      .min(0, 'give a share from 0 to 1')
      .max(1, 'give a share from 0 to 1'),
    undefined,
    'Share of the traces that `parentbased_traceidratio` keeps, from 0 to 1.',
  ),
  LOG_LEVEL: setting(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
      error: 'give trace, debug, info, warn, error or silent',
    }),
    'info',
    'Lowest level that is logged (JSON lines on standard error).',
  ),
  LOCAL_DIR: setting(z.string().min(1), '.local', 'Folder of the state of the embedded stack.'),
  CACHE_DIR: setting(
    z.string().min(1),
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service'),
    "Folder of the programs that the embedded stack downloads or builds (Temporal's server).",
  ),
  POSTGRES_PORT: setting(port, '5433', 'Port of the embedded Postgres. 0 picks a free port.'),
  TEMPORAL_PORT: setting(port, '7233', 'Port of the embedded Temporal. 0 picks a free port.'),
  TEMPORAL_UI_PORT: setting(port, '8233', "Port of the embedded Temporal's UI. 0 picks a free port."),
} as const;

function setting<T extends z.ZodType, D extends string | undefined>(form: T, byDefault: D, meaning: string) {
  return { form, byDefault, meaning, secret: false };
}

/** A secret has no default. The file that `NAME_FILE` names may have its value. */
function secretSetting<T extends z.ZodType>(form: T, meaning: string) {
  return { form, byDefault: undefined, meaning, secret: true };
}

/** The settings whose values are secrets. */
export const SECRETS: readonly string[] = Object.entries(settings)
  .filter(([, { secret }]) => secret)
  .map(([name]) => name);

type Settings = typeof settings;
type Value<K extends keyof Settings> = z.output<Settings[K]['form']>;
type Optional = {
  [K in keyof Settings]: Settings[K]['byDefault'] extends string ? never : K;
}[keyof Settings];

/** The parsed variables by name. Variables without a default may be undefined. */
export type Environment = { [K in Exclude<keyof Settings, Optional>]: Value<K> } & {
  [K in Optional]: Value<K> | undefined;
};

/** Parses each variable on its own. An empty variable counts as unset. @throws ConfigError */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const { env: given, lines } = withSecretFiles(env, SECRETS);
  const values: Record<string, unknown> = {};
  for (const [name, { form, byDefault }] of Object.entries(settings)) {
    const text = given[name] || byDefault;
    if (text === undefined) {
      values[name] = undefined;
      continue;
    }
    const result = (form as z.ZodType).safeParse(text);
    if (result.success) values[name] = result.data;
    else lines.push(`${env[name] ? name : fileVariable(name)}: ${result.error.issues[0]?.message ?? 'is invalid'}`);
  }
  if (lines.length > 0) throw new ConfigError(lines);
  return values as Environment;
}

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
  temporal: {
    address: string;
    namespace: string;
    /** Of ended workflows, ms. */
    retention: number;
    tls: TemporalTls | false;
    apiKey: Secret | undefined;
  };
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
  shutdownDelay: number;
  metrics: { port: number; allowedNetworks: readonly string[] } | undefined;
  /** Whether a collector for traces is configured. OpenTelemetry reads its other variables itself. */
  tracing: boolean;
  logLevel: Environment['LOG_LEVEL'];
}

/** Whether the operator names a database, so that the embedded stack is not started. */
export function isConfigured(env: NodeJS.ProcessEnv): boolean {
  return [env.DATABASE_URL, env[fileVariable('DATABASE_URL')], env.TEMPORAL_ADDRESS].some(Boolean);
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

/** The connection settings for Temporal at `address`. @throws ConfigError */
export function temporalAt(address: string, read: Environment): Config['temporal'] {
  const lines: string[] = [];
  const temporal = temporalFrom(address, read, lines);
  if (lines.length > 0) throw new ConfigError(lines);
  return temporal;
}

function temporalFrom(address: string, read: Environment, lines: string[]): Config['temporal'] {
  const { TEMPORAL_NAMESPACE: namespace, TEMPORAL_RETENTION: retention, TEMPORAL_API_KEY: apiKey } = read;
  const { tls, lines: errors } = readTemporalTls(read);
  lines.push(...errors);
  return { address, namespace, retention, tls, apiKey };
}

/** The settings that production must not start with (contract, Environments). */
function insecureIn(config: Config): string[] {
  const lines: string[] = [];
  if (config.baseUrl?.startsWith('http:')) lines.push('BASE_URL: is http: in production; give an https: address');
  if (config.authUrl?.startsWith('http:')) lines.push('AUTH_URL: is http: in production; give an https: address');
  if (config.masterKey && isWellKnown(config.masterKey.reveal())) {
    lines.push('MASTER_KEY: is easy to guess; make a random key (openssl rand -base64 32)');
  }
  if (config.receivers.allowPrivate) {
    lines.push('ALLOW_PRIVATE_RECEIVERS: is true in production; it is for the sandbox only');
  }
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
