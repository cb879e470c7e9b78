import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { MAX_CONCURRENCY } from '../vocabulary.js';
import {
  collector,
  count,
  DAY,
  delays,
  duration,
  durationWithin,
  flag,
  hostAndPort,
  masterKey,
  networks,
  origin,
  port,
  postgresUrl,
  roleName,
  SECOND,
  secretSetting,
  secretText,
  setting,
  type Values,
} from './forms.js';

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

/** Every environment variable, by topic. `npm run tables` makes docs/configuration.md from this. */
export const settings = {
  ENVIRONMENT: setting(
    z.enum(['sandbox', 'production'], { error: 'give sandbox or production' }),
    undefined,
    '`sandbox` or `production`. Required with `DATABASE_URL`; the embedded stack is `sandbox`.',
  ),

  // Postgres
  DATABASE_URL: secretSetting(postgresUrl, 'URL of Postgres. Unset: the embedded stack.'),
  DATABASE_DIRECT_URL: secretSetting(
    postgresUrl,
    'Direct URL of the database, for `migrate`, commands and notifications. Set it only if `DATABASE_URL` points at a transaction pooler.',
  ),
  DATABASE_RUNTIME_ROLE: setting(
    roleName,
    undefined,
    'Database role to which `migrate` grants the rights of a running service. Unset: `migrate` grants nothing.',
  ),
  DATABASE_API_ROLE: setting(
    roleName,
    undefined,
    'Database role to which `migrate` grants only the rights of an API, if APIs and workers have separate roles.',
  ),
  DATABASE_WORKER_ROLE: setting(
    roleName,
    undefined,
    'Database role to which `migrate` grants only the rights of a worker, if APIs and workers have separate roles.',
  ),
  DATABASE_POOL_SIZE: setting(
    count(2, 500),
    '10',
    'Connections to Postgres for each role of a process. `start` runs two roles, so it opens twice as many.',
  ),

  // Temporal. The names of its TLS variables are Temporal's own
  TEMPORAL_ADDRESS: setting(hostAndPort, undefined, "Temporal's frontend, host:port. Unset: the embedded stack."),
  TEMPORAL_NAMESPACE: setting(
    z.string().regex(/^[A-Za-z0-9._-]{2,100}$/, 'give 2 to 100 letters, digits, dots, underscores or dashes'),
    'transfer-service',
    'Temporal namespace. Each environment needs its own.',
  ),
  TEMPORAL_RETENTION: setting(
    durationWithin(3_600 * SECOND, 3_650 * DAY),
    '30d',
    "How long Temporal's UI shows an ended workflow (retention of the namespace). `migrate` sets it.",
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
  TEMPORAL_API_KEY: secretSetting(secretText, 'API key for Temporal.'),

  // Where the API listens, and its public URLs
  HOST: setting(z.string().min(1), '0.0.0.0', 'Address that the API listens on (embedded stack: 127.0.0.1).'),
  PORT: setting(port, '3000', 'Port of the API. 0 picks a free port.'),
  BASE_URL: setting(
    origin,
    undefined,
    'Public URL of the API and audience of its tokens (sandbox default: http://localhost:PORT).',
  ),
  AUTH_URL: setting(
    origin,
    undefined,
    'Public URL of the token endpoint and issuer of the tokens (default: BASE_URL).',
  ),

  // Keys and tokens
  MASTER_KEY: secretSetting(masterKey, 'Key that encrypts secrets at rest: 32 bytes in base64.'),
  MASTER_KEY_PREVIOUS: secretSetting(
    masterKey,
    'A second master key that only decrypts, during a rotation: first the new one, then the old one.',
  ),
  ACCESS_TOKEN_LIFETIME: setting(durationWithin(SECOND, DAY), '1h', 'Lifetime of an access token.'),

  // Deliveries, their workflows and their receivers
  DELIVERY_RETRY_DELAYS: setting(
    delays,
    '0s,5m,30m,2h,6h,24h',
    'The ladder: delays between attempts, starting after the first.',
  ),
  SANDBOX_STEP: setting(
    durationWithin(100, DAY),
    '2s',
    'Time between the status changes of a simulated transfer (account `SANDBOX-…`). Sandbox only.',
  ),
  DISABLE_AFTER: setting(
    duration,
    '5d',
    'An endpoint is disabled after this long without a success, if at least two deliveries have failed. 0: never.',
  ),
  WORKFLOWS: setting(
    z.enum(WORKFLOW_MODES, { error: `give ${WORKFLOW_MODES.join(' or ')}` }),
    'every-event',
    'Which events get a workflow: `every-event`, or `retries-only` for events with a delivery that sleeps or has failed.',
  ),
  WORKFLOWS_TRAIL: setting(
    durationWithin(SECOND, 3_650 * DAY),
    '1h',
    'With `every-event`, a delivered event whose workflow has not started within this time gets none.',
  ),
  ALLOW_PRIVATE_RECEIVERS: setting(flag, 'false', 'Deliver to private addresses. Sandbox only (embedded stack: true).'),
  BLOCKED_RECEIVERS: setting(
    networks,
    '',
    'CIDRs that the service never delivers to, in addition to private networks: your own public addresses.',
  ),
  EGRESS_ADDRESSES: setting(
    networks,
    '',
    'CIDRs that deliveries come from. `GET /meta` shows them to receivers with a firewall.',
  ),

  // The networks that may connect, and the limits of requests, endpoints and time
  ALLOWED_NETWORKS: setting(networks, '', 'CIDRs that may connect to the API. Empty: any address.'),
  TRUSTED_PROXIES: setting(networks, '', 'CIDRs of the proxies whose `X-Forwarded-For` the API trusts.'),
  RATE_LIMIT: setting(count(1, 1_000_000), '100', 'Requests per second, for each client and process.'),
  ENDPOINT_CONCURRENCY: setting(
    count(1, MAX_CONCURRENCY),
    '10',
    'Concurrent attempts at one endpoint, over all workers. An endpoint may have its own `max_concurrency`.',
  ),
  MAX_ENDPOINTS: setting(count(1, 10_000), '20', 'Webhook endpoints of one client.'),
  RETENTION: setting(durationWithin(SECOND, 3_650 * DAY), '90d', 'How long events, deliveries and attempts are kept.'),
  TRANSFER_RETENTION: setting(
    durationWithin(DAY, 36_500 * DAY),
    undefined,
    'How long ended transfers are kept, for `transfers expire`. Unset: for good.',
  ),
  REQUEST_DEADLINE: setting(
    durationWithin(SECOND, 20 * SECOND),
    '15s',
    'Time within which the API responds, with 503 if it cannot do more. Timeouts of proxies must be longer.',
  ),
  SHUTDOWN_DELAY: setting(
    durationWithin(0, 300 * SECOND),
    '5s',
    'How long the API keeps serving after SIGTERM while `/readyz` is 503, so that load balancers remove it first (embedded stack: 0s).',
  ),

  // Metrics, traces and logs
  METRICS_PORT: setting(
    port,
    undefined,
    'Internal port for `/metrics`, `/healthz` and `/readyz`, in every role. Unset: no port.',
  ),
  METRICS_ALLOWED_NETWORKS: setting(networks, '127.0.0.0/8,::1/128', 'CIDRs that may connect to `METRICS_PORT`.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    collector,
    undefined,
    "OTLP/HTTP URL of the OpenTelemetry collector, such as http://localhost:4318. Unset: no traces. OpenTelemetry's other `OTEL_…` variables apply too.",
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    collector,
    undefined,
    'The same with the full path, such as http://localhost:4318/v1/traces.',
  ),
  OTEL_TRACES_SAMPLER: setting(
    z.enum(SAMPLERS, { error: `give ${SAMPLERS.join(', ')}` }),
    'parentbased_always_on',
    'Trace sampler. `parentbased_traceidratio` keeps a share of the traces.',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(
    z.coerce
      .number({ error: 'give a share from 0 to 1' })
      .min(0, 'give a share from 0 to 1')
      .max(1, 'give a share from 0 to 1'),
    undefined,
    'Share that `parentbased_traceidratio` keeps, from 0 to 1.',
  ),
  LOG_LEVEL: setting(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
      error: 'give trace, debug, info, warn, error or silent',
    }),
    'info',
    'Lowest level that is logged (JSON lines on standard error).',
  ),

  // The embedded stack
  LOCAL_DIR: setting(z.string().min(1), '.local', 'Folder for the state of the embedded stack.'),
  CACHE_DIR: setting(
    z.string().min(1),
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service'),
    "Folder for programs that the embedded stack downloads or builds (Temporal's server).",
  ),
  POSTGRES_PORT: setting(port, '5433', 'Port of the embedded Postgres. 0 picks a free port.'),
  TEMPORAL_PORT: setting(port, '7233', 'Port of the embedded Temporal. 0 picks a free port.'),
  TEMPORAL_UI_PORT: setting(port, '8233', "Port of the embedded Temporal's UI. 0 picks a free port."),
} as const;

/** The settings whose values are secrets. */
export const SECRETS: readonly string[] = Object.entries(settings)
  .filter(([, { secret }]) => secret)
  .map(([name]) => name);

/** The parsed variables by name. Variables without a default may be undefined. */
export type Environment = Values<typeof settings>;
