import { createPrivateKey, X509Certificate } from 'node:crypto';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { formatDuration, parseDuration } from '../duration.js';
import { isNetwork } from '../networks.js';
import { canonicalUrl } from '../receiver-url.js';
import { Secret } from '../secret.js';
import { MAX_CONCURRENCY } from '../vocabulary.js';
import { readDatabaseUrl } from './database-url.js';

/** An environment variable: its form, its meaning and its default (as text). */
function setting<T extends z.ZodType, D extends string | undefined = undefined>(
  form: T,
  meaning: string,
  byDefault?: D,
) {
  return { form, meaning, byDefault: byDefault as D, secret: false };
}

export type Setting = ReturnType<typeof setting>;

/** A secret has no default. Its value may come from the file `NAME_FILE`. */
function secretSetting<T extends z.ZodType>(form: T, meaning: string) {
  return { ...setting(form, meaning), secret: true };
}

/** Text in a form that `parse` reads. It returns undefined for any other text, which `hint` explains. */
function parsed<T>(parse: (text: string) => T | undefined, hint: string | ((text: string) => string)) {
  return z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: typeof hint === 'string' ? hint : hint(text) });
    return z.NEVER;
  });
}

const number = (min: number, max: number, hint: string) =>
  z.coerce.number({ error: hint }).min(min, hint).max(max, hint);

const count = (min: number, max: number) => {
  const hint = `give a whole number from ${min} to ${max}`;
  return number(min, max, hint).int(hint);
};

const port = count(0, 65_535);

/** ms */
const SECOND = 1_000;
/** ms */
const DAY = 86_400_000;

/** The longest time to keep something or to wait, ms. Postgres can add it to a date. */
const LONGEST = 3_650 * DAY;

const parseWithin = (min: number, max: number) => (text: string) => {
  const milliseconds = parseDuration(text);
  return milliseconds !== undefined && milliseconds >= min && milliseconds <= max ? milliseconds : undefined;
};

/** A duration with bounds, such as a lifetime, in ms: no setting is endless. @param min in ms, as is `max` */
const durationWithin = (min: number, max: number) =>
  parsed(parseWithin(min, max), `give a duration from ${formatDuration(min)} to ${formatDuration(max)}`);

/** Of what is kept for good by default. */
const longTerm = durationWithin(DAY, 36_500 * DAY);

const delays = parsed<readonly number[]>(
  (text) => {
    const ladder = list(text).map(parseWithin(0, LONGEST));
    return ladder.length === 0 || ladder.length > 50 || ladder.includes(undefined) ? undefined : (ladder as number[]);
  },
  `give 1 to 50 durations of at most ${formatDuration(LONGEST)}, such as 0s,5m,30m,2h,6h,24h`,
);

const oneOf = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `give ${values.join(' or ')}` });

const flag = oneOf(['true', 'false']).transform((text) => text === 'true');

/** The items of a text that separates them by commas. */
const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** The CIDRs of a list; undefined if an item is none. */
const networksIn = (text: string) => (list(text).every(isNetwork) ? list(text) : undefined);

const notNetwork = (hint: string) => (text: string) =>
  `${list(text).find((cidr) => !isNetwork(cidr))} is not a network; give ${hint}`;

/** A list of CIDRs. */
const networks = parsed<readonly string[]>(networksIn, notNetwork('CIDRs such as 10.0.0.0/8,2001:db8::/32'));

/** A list of CIDRs, or `none`: then the list is empty on purpose. */
const networksOrNone = parsed<readonly string[] | 'none'>(
  (text) => (/^none$/i.test(list(text).join()) ? 'none' : networksIn(text)),
  notNetwork('CIDRs such as 10.0.0.0/8,2001:db8::/32, or none alone'),
);

const secretText = z.string().transform((text) => new Secret(text));

/** Text in PEM that Node reads. */
const pem = (read: (text: string) => unknown, hint: string) =>
  parsed((text) => {
    try {
      read(text);
      return new Secret(text);
    } catch {
      return undefined;
    }
  }, hint);

const certificate = pem((text) => new X509Certificate(text), 'give a certificate in PEM');

/**
 * Node skips characters that are not base64 and stops at the padding, so a truncated or concatenated key would pass.
 */
const masterKey = parsed(
  (text) => (/^[A-Za-z0-9+/]{43}=$/.test(text) ? new Secret<Uint8Array>(Buffer.from(text, 'base64')) : undefined),
  'give 32 bytes in base64 (openssl rand -base64 32)',
);

const postgresUrl = z.string().transform((text, context) => {
  const read = readDatabaseUrl(text);
  if (read instanceof Secret) return read;
  context.addIssue({ code: 'custom', message: read });
  return z.NEVER;
});

const roleName = z.string().min(1).max(63, 'give the name of a role, at most 63 characters');

/** The URL is compared as text with the audience that clients send, so it must have the URL standard's spelling. */
const origin = z.string().refine((text) => {
  const url = URL.parse(text);
  const spelling = url && url.origin + url.pathname.replace(/\/$/, '');
  return text === spelling && /^https?:/.test(text) && !text.endsWith('/');
}, 'give an absolute http(s) URL in lower case with no trailing slash, such as https://api.example.com');

/** As of an endpoint. `canonicalUrl` throws for what is no URL. */
const receiverUrl = parsed(
  (text) =>
    /^https?:\/\/[^/?#@\s]+([/?][^#]*)?$/i.test(text) && URL.canParse(text) && canonicalUrl(text) === text
      ? new Secret(text)
      : undefined,
  'give an absolute http(s) URL without credentials and fragment, such as https://example.com/hooks',
);

const collector = parsed(
  (text) => (/^https?:\/\//.test(text) && URL.canParse(text) ? text : undefined),
  'give an http(s) URL, such as http://localhost:4318',
);

const hostAndPort = parsed(
  (text) => (/^([^\s:/]+|\[[0-9a-fA-F:]+\]):\d{1,5}$/.test(text) && URL.canParse(`http://${text}`) ? text : undefined),
  'give host:port, such as temporal.internal:7233',
);

/** The events that get a workflow: every event, or only events with a delivery that sleeps or has failed. */
export const WORKFLOW_MODES = ['every-event', 'retries-only'] as const;
export type WorkflowMode = (typeof WORKFLOW_MODES)[number];

/** The samplers of OpenTelemetry's SDK. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** The user's folder. A user in a container may have a number, and neither a name nor `HOME`. */
function home(): string {
  try {
    return homedir();
  } catch {
    return tmpdir();
  }
}

/** Every environment variable, by topic. `npm run tables` makes docs/configuration.md from this. */
export const settings = {
  ENVIRONMENT: setting(
    oneOf(['sandbox', 'production']),
    '`sandbox` or `production`. Required with `DATABASE_URL`; the embedded stack is `sandbox`.',
  ),

  // Postgres
  DATABASE_URL: secretSetting(postgresUrl, 'URL of Postgres. Unset: the embedded stack.'),
  DATABASE_DIRECT_URL: secretSetting(
    postgresUrl,
    'URL of Postgres itself, if `DATABASE_URL` points at a transaction pooler.',
  ),
  DATABASE_RUNTIME_ROLE: setting(
    roleName,
    'Role to which `migrate` grants the rights of a running service. Unset: none.',
  ),
  DATABASE_API_ROLE: setting(roleName, 'The same, with the rights of an API alone.'),
  DATABASE_WORKER_ROLE: setting(roleName, 'The same, with the rights of a worker alone.'),
  DATABASE_POOL_SIZE: setting(
    count(2, 500),
    'Connections to Postgres of an API or a worker; `start` opens twice as many.',
    '10',
  ),

  // Temporal. The names of its TLS variables are Temporal's own
  TEMPORAL_ADDRESS: setting(hostAndPort, "Temporal's frontend, host:port. Unset: the embedded stack."),
  TEMPORAL_NAMESPACE: setting(
    z.string().regex(/^[A-Za-z0-9._-]{2,100}$/, 'give 2 to 100 letters, digits, dots, underscores or dashes'),
    'Temporal namespace. Each environment needs its own.',
    'transfer-service',
  ),
  TEMPORAL_RETENTION: setting(
    durationWithin(3_600 * SECOND, LONGEST),
    "How long Temporal's UI shows an ended workflow. `migrate` sets it.",
    '30d',
  ),
  TEMPORAL_TLS: setting(flag, 'Connect to Temporal with TLS. The variables below imply it.', 'false'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: setting(z.string(), "PEM file of Temporal's CA. Unset: the system's CAs."),
  TEMPORAL_TLS_SERVER_CA_CERT_DATA: setting(certificate, 'The same, as the content of the file.'),
  TEMPORAL_TLS_SERVER_NAME: setting(
    z.string().regex(/^[A-Za-z0-9.-]{1,253}$/, 'give a host name, such as temporal.internal'),
    "Name in Temporal's certificate. Unset: the host of `TEMPORAL_ADDRESS`.",
  ),
  TEMPORAL_TLS_CLIENT_CERT_PATH: setting(z.string(), 'PEM file of the client certificate (mTLS).'),
  TEMPORAL_TLS_CLIENT_CERT_DATA: setting(certificate, 'The same, as the content of the file.'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: setting(z.string(), "PEM file of the client certificate's private key."),
  TEMPORAL_TLS_CLIENT_KEY_DATA: setting(
    pem(createPrivateKey, 'give a private key in PEM, without a passphrase'),
    'The same, as the content of the file.',
  ),
  TEMPORAL_API_KEY: secretSetting(secretText, 'API key for Temporal.'),

  // Where the API listens, and its public URLs
  HOST: setting(z.string().min(1), 'Address that the API listens on (embedded stack: 127.0.0.1).', '0.0.0.0'),
  PORT: setting(port, 'Port of the API. For every port, 0 picks a free one.', '3000'),
  BASE_URL: setting(origin, 'Public URL of the API and audience of its tokens (sandbox: http://localhost:PORT).'),
  AUTH_URL: setting(origin, 'Public URL of the token endpoint and issuer of the tokens (default: BASE_URL).'),

  // Keys and tokens
  MASTER_KEY: secretSetting(masterKey, 'Key that encrypts secrets at rest: 32 bytes in base64.'),
  MASTER_KEY_PREVIOUS: secretSetting(masterKey, 'A second key that only decrypts, during a rotation.'),
  ACCESS_TOKEN_LIFETIME: setting(durationWithin(SECOND, DAY), 'Lifetime of an access token.', '1h'),

  // Deliveries, their workflows and their receivers
  DELIVERY_RETRY_DELAYS: setting(delays, 'The ladder: delays of the attempts after the first.', '0s,5m,30m,2h,6h,24h'),
  SANDBOX_STEP: setting(durationWithin(100, DAY), 'Time between the status changes of a simulated transfer.', '2s'),
  DISABLE_AFTER: setting(
    durationWithin(0, LONGEST),
    'An endpoint is disabled after this long without a success. 0: never.',
    '5d',
  ),
  WORKFLOWS: setting(
    oneOf(WORKFLOW_MODES),
    'Which events get a workflow: `every-event`, or `retries-only`: those with a delivery that sleeps or has failed.',
    'every-event',
  ),
  WORKFLOWS_TRAIL: setting(
    durationWithin(SECOND, LONGEST),
    'A delivered event whose workflow has not started within this time gets none.',
    '1h',
  ),
  ALLOW_PRIVATE_RECEIVERS: setting(flag, 'Deliver to private addresses. Sandbox only (embedded stack: true).', 'false'),
  BLOCKED_RECEIVERS: setting(networks, 'More CIDRs that the service never delivers to: your own public addresses.', ''),
  NOTIFY_URL: secretSetting(
    receiverUrl,
    'Where workers POST notifications about endpoints and the service. Needs `NOTIFY_SECRET`.',
  ),
  NOTIFY_SECRET: secretSetting(
    z
      .string()
      .regex(/^(?! *$)[\x20-\x7e]{16,256}$/, 'give 16 to 256 printable ASCII characters, not spaces only')
      .transform((text) => new Secret(text)),
    'Key that signs them.',
  ),
  NOTIFY_ALLOW_PRIVATE: setting(flag, '`NOTIFY_URL` may be a private address and, in production, `http:`.', 'false'),
  EGRESS_ADDRESSES: setting(networks, 'CIDRs that deliveries come from. `GET /meta` shows them to receivers.', ''),

  // The networks that may connect, and the limits of requests, endpoints and time
  ALLOWED_NETWORKS: setting(networks, 'CIDRs that may connect to the API. Empty: any address.', ''),
  TRUSTED_PROXIES: setting(
    networksOrNone,
    'CIDRs of the proxies whose `X-Forwarded-For` counts. Required in production: `none` if there is no proxy.',
    '',
  ),
  RATE_LIMIT: setting(count(1, 1_000_000), 'Requests per second for each client, over all API processes.', '100'),
  ENDPOINT_CONCURRENCY: setting(
    count(1, MAX_CONCURRENCY),
    'Concurrent attempts at one endpoint, over all workers, unless it has a `max_concurrency`.',
    '10',
  ),
  WORKER_CONCURRENCY: setting(
    count(1, 10_000),
    'Concurrent attempts in one worker. A receiver that hangs holds one for 15 s.',
    '1000',
  ),
  CLIENT_CONCURRENCY: setting(count(1, 10_000), 'Concurrent attempts for one client in one worker.', '60'),
  MAX_ENDPOINTS: setting(count(1, 10_000), 'Webhook endpoints of one client.', '20'),
  RETENTION: setting(durationWithin(SECOND, LONGEST), 'How long events, deliveries and attempts are kept.', '90d'),
  TRANSFER_RETENTION: setting(longTerm, 'How long ended transfers are kept, for `transfers expire`. Unset: for good.'),
  AUDIT_RETENTION: setting(longTerm, 'How long audit entries are kept, for `audit expire`. Unset: for good.'),
  REQUEST_DEADLINE: setting(
    durationWithin(SECOND, 20 * SECOND),
    'Time within which the API responds, if need be with 503. Timeouts of proxies must be longer.',
    '15s',
  ),
  SHUTDOWN_DELAY: setting(
    durationWithin(0, 300 * SECOND),
    'How long the API keeps serving after SIGTERM while `/readyz` is 503 (embedded stack: 0s).',
    '5s',
  ),

  // Metrics, traces and logs
  METRICS_PORT: setting(port, 'Internal port for `/metrics`, `/healthz` and `/readyz`, in every role. Unset: no port.'),
  METRICS_ALLOWED_NETWORKS: setting(networks, 'CIDRs that may connect to `METRICS_PORT`.', '127.0.0.0/8,::1/128'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    collector,
    'OTLP/HTTP URL of the collector. Unset: no traces. Also valid: `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_BSP_…`, span limits, and `HEADERS`, `TIMEOUT`, `COMPRESSION` and certificates of `OTEL_EXPORTER_OTLP_…`.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    collector,
    'The same with the full path: http://localhost:4318/v1/traces.',
  ),
  OTEL_SDK_DISABLED: setting(
    z.string().transform((text) => /^\s*true\s*$/i.test(text)),
    '`true`: no traces.',
    'false',
  ),
  OTEL_TRACES_EXPORTER: setting(z.string().transform(list), '`otlp`, or `none`: no traces.', 'otlp'),
  OTEL_TRACES_SAMPLER: setting(
    oneOf(SAMPLERS),
    'Trace sampler. `parentbased_traceidratio` keeps a share of the traces.',
    'parentbased_always_on',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(number(0, 1, 'give a share from 0 to 1'), 'Share that it keeps, from 0 to 1.'),
  LOG_LEVEL: setting(
    oneOf(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    'Lowest level that is logged (JSON lines on standard error).',
    'info',
  ),

  // The embedded stack
  LOCAL_DIR: setting(z.string().min(1), 'Folder for the state of the embedded stack.', '.local'),
  CACHE_DIR: setting(
    z.string().min(1),
    "Folder for Temporal's server, which the embedded stack downloads or builds.",
    join(process.env.XDG_CACHE_HOME || join(home(), '.cache'), 'transfer-service'),
  ),
  POSTGRES_PORT: setting(port, 'Port of the embedded Postgres.', '5433'),
  TEMPORAL_PORT: setting(port, 'Port of the embedded Temporal.', '7233'),
  TEMPORAL_UI_PORT: setting(port, "Port of the embedded Temporal's UI.", '8233'),
} as const;

/** The settings whose values are secrets. */
export const SECRETS: readonly string[] = Object.entries(settings)
  .filter(([, { secret }]) => secret)
  .map(([name]) => name);

/** The parsed variables by name. Variables without a default may be undefined. */
export type Environment = {
  [K in keyof typeof settings]:
    | z.output<(typeof settings)[K]['form']>
    | ((typeof settings)[K]['byDefault'] extends string ? never : undefined);
};
