import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { formatDuration, parseDuration } from './duration.js';
import { isNetwork } from './networks.js';
import { Secret } from './secret.js';

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

/** Such as a lifetime, of which none and endless are both mistakes. @param min in ms, as is `max` */
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
  // Node reads on over what is no base64 and stops at the padding: a key cut or pasted together would pass.
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) {
    context.addIssue({ code: 'custom', message: 'give 32 bytes in base64 (openssl rand -base64 32)' });
    return z.NEVER;
  }
  return new Secret<Uint8Array>(bytes);
});

const origin = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // Compared as text with the audience that clients send, so that one spelling must do: the URL standard's.
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

/** What OpenTelemetry's SDK has to choose from. */
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

/** Which events get a workflow: every one, or those with something left to do after their first attempts. */
export const WORKFLOW_MODES = ['every-event', 'retries-only'] as const;
export type WorkflowMode = (typeof WORKFLOW_MODES)[number];

/** Every environment variable: its form, its default (as text) and what it means. The README's table is made from this. */
export const settings = {
  ENVIRONMENT: setting(
    z.enum(['sandbox', 'production'], { error: 'give sandbox or production' }),
    undefined,
    'What this deployment is. No default where `DATABASE_URL` is set; the embedded stack is `sandbox`.',
  ),
  DATABASE_URL: setting(postgresUrl, undefined, 'Postgres. Unset: the embedded stack.'),
  DATABASE_POOL_SIZE: setting(
    count(2, 500),
    '10',
    'Connections to Postgres of one role (the whole service in one process: of each of the two).',
  ),
  TEMPORAL_ADDRESS: setting(address, undefined, "Temporal's frontend, host:port. Unset: the embedded stack."),
  TEMPORAL_NAMESPACE: setting(
    z.string().regex(/^[A-Za-z0-9._-]{2,100}$/, 'give 2 to 100 letters, digits, dots, underscores or dashes'),
    'transfer-service',
    'Temporal namespace; one for each environment.',
  ),
  TEMPORAL_TLS: setting(flag, 'false', 'Speak TLS to Temporal.'),
  TEMPORAL_API_KEY: setting(
    z.string().transform((text) => new Secret(text)),
    undefined,
    'API key for Temporal Cloud; implies TLS.',
  ),
  HOST: setting(z.string().min(1), '0.0.0.0', 'Address the API listens on (embedded stack: 127.0.0.1).'),
  PORT: setting(port, '3000', 'Port of the API; 0 picks a free one.'),
  BASE_URL: setting(
    origin,
    undefined,
    "The API's address as clients know it, which is also the tokens' audience (sandbox default: http://localhost:PORT).",
  ),
  AUTH_URL: setting(origin, undefined, 'Address of the token endpoint, the issuer of the tokens (default: BASE_URL).'),
  MASTER_KEY: setting(masterKey, undefined, '32 bytes in base64 that encrypt the secrets at rest.'),
  MASTER_KEY_PREVIOUS: setting(masterKey, undefined, 'The key before, while `keys rotate-master` has not finished.'),
  ACCESS_TOKEN_LIFETIME: setting(durationWithin(SECOND, DAY), '1h', 'Lifetime of an access token.'),
  DELIVERY_RETRY_DELAYS: setting(
    delays,
    '0s,5m,30m,2h,6h,24h',
    'The ladder: delays of the retries after the first attempt.',
  ),
  DISABLE_AFTER: setting(
    duration,
    '5d',
    'An endpoint with no success for this long, over at least two exhausted deliveries, is disabled; 0 = never.',
  ),
  WORKFLOWS: setting(
    z.enum(WORKFLOW_MODES, { error: `give ${WORKFLOW_MODES.join(' or ')}` }),
    'every-event',
    'Whether an event whose first attempts delivered everywhere gets a workflow too.',
  ),
  ALLOW_PRIVATE_RECEIVERS: setting(flag, 'false', 'Deliver to private addresses; sandbox only (embedded stack: true).'),
  BLOCKED_RECEIVERS: setting(networks, '', "Further CIDRs never delivered to: the operator's own public addresses."),
  EGRESS_ADDRESSES: setting(
    networks,
    '',
    'CIDRs from which deliveries leave, for receivers that admit known addresses alone; `GET /meta` shows them.',
  ),
  ALLOWED_NETWORKS: setting(networks, '', 'CIDRs that may connect at all; empty: any.'),
  TRUSTED_PROXIES: setting(networks, '', 'CIDRs whose `X-Forwarded-For` counts.'),
  RATE_LIMIT: setting(count(1, 1_000_000), '100', 'Requests a second, for each client and process.'),
  MAX_ENDPOINTS: setting(count(1, 10_000), '20', 'Webhook endpoints a client may have.'),
  RETENTION: setting(durationWithin(SECOND, 3_650 * DAY), '90d', 'How long events, deliveries and attempts are kept.'),
  SHUTDOWN_DELAY: setting(
    durationWithin(0, 300 * SECOND),
    '5s',
    'How long an API that was told to end serves on, unready, so that load balancers turn away first (embedded stack: 0s).',
  ),
  METRICS_PORT: setting(
    port,
    undefined,
    "Port for the operator's own machines: `/metrics`, `/healthz` and `/readyz` of any role; unset: none.",
  ),
  METRICS_ALLOWED_NETWORKS: setting(networks, '127.0.0.0/8,::1/128', 'CIDRs that may connect to `METRICS_PORT`.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    collector,
    undefined,
    "Where traces go: an OpenTelemetry collector's OTLP/HTTP port, such as http://localhost:4318; unset: none are made. OpenTelemetry's other `OTEL_…` variables count too.",
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    collector,
    undefined,
    'The same, with the whole path for traces, such as http://localhost:4318/v1/traces.',
  ),
  OTEL_TRACES_SAMPLER: setting(
    z.enum(SAMPLERS, { error: `give ${SAMPLERS.join(', ')}` }),
    'parentbased_always_on',
    'Which traces are kept: `parentbased_traceidratio` takes a share of them.',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(
    z.coerce
      .number({ error: 'give a share from 0 to 1' })
      .min(0, 'give a share from 0 to 1')
      .max(1, 'give a share from 0 to 1'),
    undefined,
    'That share, from 0 to 1.',
  ),
  LOG_LEVEL: setting(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
      error: 'give trace, debug, info, warn, error or silent',
    }),
    'info',
    'Least level that is logged (JSON lines on standard error).',
  ),
  LOCAL_DIR: setting(z.string().min(1), '.local', 'Where the embedded stack keeps its state.'),
  CACHE_DIR: setting(
    z.string().min(1),
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service'),
    "Where the embedded stack keeps programs that it found or built (Temporal's server).",
  ),
  POSTGRES_PORT: setting(port, '5433', 'Port of the embedded Postgres; 0 picks a free one.'),
  TEMPORAL_PORT: setting(port, '7233', 'Port of the embedded Temporal; 0 picks a free one.'),
  TEMPORAL_UI_PORT: setting(port, '8233', "Port of the embedded Temporal's UI; 0 picks a free one."),
} as const;

function setting<T extends z.ZodType, D extends string | undefined>(form: T, byDefault: D, meaning: string) {
  return { form, byDefault, meaning };
}

type Settings = typeof settings;
type Value<K extends keyof Settings> = z.output<Settings[K]['form']>;
type Optional = {
  [K in keyof Settings]: Settings[K]['byDefault'] extends string ? never : K;
}[keyof Settings];

/** What was read: every variable by its own name; those without a default may be undefined. */
export type Environment = { [K in Exclude<keyof Settings, Optional>]: Value<K> } & {
  [K in Optional]: Value<K> | undefined;
};

/** A mistake in the configuration: each line names the variable and what would be right. Never holds a value of a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly lines: readonly string[]) {
    super(lines.join('\n'));
  }
}

/** Reads the variables one by one. An empty variable counts as unset. Throws ConfigError. */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const lines: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { form, byDefault }] of Object.entries(settings)) {
    const text = env[name] === undefined || env[name] === '' ? byDefault : env[name];
    if (text === undefined) {
      values[name] = undefined;
      continue;
    }
    const result = (form as z.ZodType).safeParse(text);
    if (result.success) values[name] = result.data;
    else lines.push(`${name}: ${result.error.issues[0]?.message ?? 'is wrong'}`);
  }
  if (lines.length > 0) throw new ConfigError(lines);
  return values as Environment;
}

/** The whole configuration of a process: dependencies named, no optional left open but where the contract says so. */
export interface Config {
  environment: 'sandbox' | 'production';
  databaseUrl: Secret;
  databasePoolSize: number;
  temporal: {
    address: string;
    namespace: string;
    tls: boolean;
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
  /** ms; 0 = never */
  disableAfter: number;
  workflows: WorkflowMode;
  receivers: { allowPrivate: boolean; blocked: readonly string[] };
  /** CIDRs from which deliveries leave. */
  egressAddresses: readonly string[];
  allowedNetworks: readonly string[];
  trustedProxies: readonly string[];
  /** Requests a second. */
  rateLimit: number;
  maxEndpoints: number;
  /** ms */
  retention: number;
  /** ms */
  shutdownDelay: number;
  metrics: { port: number; allowedNetworks: readonly string[] } | undefined;
  /** Whether there is somewhere to send traces to; the rest OpenTelemetry reads by itself. */
  tracing: boolean;
  logLevel: Environment['LOG_LEVEL'];
}

/** True where nothing embedded is to be started: the databases are named. */
export function isConfigured(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env.DATABASE_URL) || Boolean(env.TEMPORAL_ADDRESS);
}

/**
 * The configuration of a process whose dependencies are named, by the operator or by the embedded stack.
 * @throws ConfigError with a line for each mistake, and for each setting that production must not have.
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
  const config: Config = {
    environment,
    databaseUrl: required('DATABASE_URL', read.DATABASE_URL, 'give postgresql://user:password@host:5432/database'),
    databasePoolSize: read.DATABASE_POOL_SIZE,
    temporal: temporalAt(
      required('TEMPORAL_ADDRESS', read.TEMPORAL_ADDRESS, 'give host:port, such as temporal.internal:7233'),
      read,
    ),
    host: read.HOST,
    port: read.PORT,
    baseUrl: production
      ? required('BASE_URL', read.BASE_URL, 'give the https address of the API')
      : (read.BASE_URL ?? `http://localhost:${read.PORT}`),
    authUrl: '',
    masterKey: required('MASTER_KEY', read.MASTER_KEY, 'give 32 bytes in base64 (openssl rand -base64 32)'),
    masterKeyPrevious: read.MASTER_KEY_PREVIOUS,
    accessTokenLifetime: read.ACCESS_TOKEN_LIFETIME,
    retryDelays: read.DELIVERY_RETRY_DELAYS,
    disableAfter: read.DISABLE_AFTER,
    workflows: read.WORKFLOWS,
    receivers: { allowPrivate: read.ALLOW_PRIVATE_RECEIVERS, blocked: read.BLOCKED_RECEIVERS },
    egressAddresses: read.EGRESS_ADDRESSES,
    allowedNetworks: read.ALLOWED_NETWORKS,
    trustedProxies: read.TRUSTED_PROXIES,
    rateLimit: read.RATE_LIMIT,
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

/** How Temporal at `address` is spoken to. */
export function temporalAt(address: string, read: Environment): Config['temporal'] {
  const { TEMPORAL_NAMESPACE: namespace, TEMPORAL_TLS, TEMPORAL_API_KEY: apiKey } = read;
  return { address, namespace, tls: TEMPORAL_TLS || apiKey !== undefined, apiKey };
}

/** What production must not start with (contract, Environments). */
function insecureIn(config: Config): string[] {
  const lines: string[] = [];
  if (config.baseUrl?.startsWith('http:')) lines.push('BASE_URL: is http: in production; give an https: address');
  if (config.authUrl?.startsWith('http:')) lines.push('AUTH_URL: is http: in production; give an https: address');
  if (config.masterKey && isWellKnown(config.masterKey.reveal())) {
    lines.push('MASTER_KEY: is well known; make one of your own (openssl rand -base64 32)');
  }
  if (config.receivers.allowPrivate) {
    lines.push('ALLOW_PRIVATE_RECEIVERS: is true in production; it is for the sandbox only');
  }
  return lines;
}

/** Of 32 random bytes, 30 are distinct on average; fewer than 16 are so once in 10^16 keys. */
const LEAST_DISTINCT_BYTES = 16;

/**
 * Keys that anybody would try first: few distinct bytes, a count, or text. 32 random bytes are text once in 10^13 keys.
 * MASTER_KEY_PREVIOUS is not judged: it only opens what is there, and a weak key must remain replaceable.
 */
function isWellKnown(key: Uint8Array): boolean {
  if (new Set(key).size < LEAST_DISTINCT_BYTES) return true;
  const step = ((key[1] ?? 0) - (key[0] ?? 0)) & 0xff;
  const regular = key.every((byte, i) => i === 0 || ((byte - (key[i - 1] ?? 0)) & 0xff) === step);
  return regular || key.every((byte) => byte >= 0x20 && byte <= 0x7e);
}
