import { readFileSync, statSync } from 'node:fs';
import { fileText, NO_TEXT } from '../../../clients/typescript/src/cli/file-text.js';
import { ConfigError } from './config-error.js';
import { type Environment, SECRETS, type Setting, settings } from './settings.js';

/** Parses each variable on its own. An empty variable counts as unset. @throws ConfigError */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const { env: given, lines } = withSecrets(env, FROM_FILES);
  const values: Record<string, unknown> = {};
  for (const [name, { form, byDefault }] of Object.entries<Setting>(settings)) {
    const text = (isServiceLink(name, given[name]) ? undefined : given[name]) || byDefault;
    if (text === undefined) continue;
    const result = form.safeParse(text);
    if (result.success) values[name] = result.data;
    else {
      const variable = fileVariable(name);
      lines.push(`${env[variable] ? variable : name}: ${result.error.issues[0]?.message ?? 'is invalid'}`);
    }
  }
  if (lines.length > 0) throw new ConfigError(lines);
  return values as Environment;
}

/**
 * What Kubernetes and Docker set for a Service of another name, such as POSTGRES_PORT_5432_TCP and
 * POSTGRES_SERVICE_HOST.
 */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP|SCTP))(_[A-Z0-9_]+)?$/;

/**
 * Whether Kubernetes or Docker has set the variable: for a Service `postgres` they set
 * `POSTGRES_PORT=tcp://10.0.0.5:5432` in every pod of its namespace.
 */
const isServiceLink = (name: string, value = '') => name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value);

/**
 * No secret of the service comes near this size, in bytes, and no list of CAs. A path to something larger is a mistake.
 */
const MAX_SIZE = 1_048_576;

/** The variable that names a file with the value of `name`. Temporal's own names end with `_DATA` and `_PATH`. */
export const fileVariable = (name: string): string => (isData(name) ? name.replace(/DATA$/, 'PATH') : `${name}_FILE`);

const isData = (name: string) => /^TEMPORAL_TLS_.*_DATA$/.test(name);
const FROM_FILES = [...SECRETS, ...Object.keys(settings).filter(isData)];

/**
 * Reads the value of each variable of `names` from the file that `NAME_FILE` names, as container platforms and vaults
 * mount secrets. Line breaks at the end are removed. An empty variable counts as unset. The result has no `NAME_FILE`.
 * No line contains a path: an operator who confuses the variables has put the secret itself there.
 * @returns the environment with these values, and a line for each file that cannot be used
 */
export function withSecrets(env: NodeJS.ProcessEnv, names: readonly string[]) {
  const result = { env: { ...env }, lines: [] as string[] };
  for (const name of names) {
    const variable = fileVariable(name);
    const path = env[variable];
    delete result.env[variable];
    if (!path) continue;
    const outcome = env[name] ? { fault: `${name} is given too; give one of them` } : readSecret(path);
    delete result.env[name];
    if ('fault' in outcome) result.lines.push(`${variable}: ${outcome.fault}`);
    else result.env[name] = outcome.value;
  }
  return result;
}

type Outcome = { value: string } | { fault: string };

function readSecret(path: string): Outcome {
  try {
    const file = statSync(path);
    if (!file.isFile()) return { fault: 'names no regular file; give the path of a file with the value' };
    if (file.size > MAX_SIZE) return { fault: `names a file of more than ${MAX_SIZE} bytes` };
    const value = fileText(readFileSync(path))?.replace(/[\r\n]+$/, '');
    if (value === undefined) return { fault: `names a file that ${NO_TEXT}` };
    return value === '' ? { fault: 'names an empty file; write the value into it' } : { value };
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return { fault: `names a file that cannot be read (${code}); give the path of a readable file` };
  }
}

/** Variables that begin so are meant for the service. Others with the prefix `POSTGRES_` belong to tools. */
const PREFIXES = [
  ...[
    'ALLOWED_',
    'BLOCKED_',
    'DATABASE_',
    'DELIVERY_',
    'EGRESS_',
    'ENDPOINT_',
    'MASTER_KEY',
    'METRICS_',
    'RATE_',
    'REQUEST_',
  ],
  ...['SANDBOX_', 'TEMPORAL_', 'TRANSFER_', 'TRUSTED_', 'WORKFLOWS_'],
];
/** What deploy/postgres/roles.sql and docker compose read: they are beside the settings where both are exported. */
const OF_ROLES = [
  ...['DATABASE_OWNER_PASSWORD', 'DATABASE_RUNTIME_PASSWORD', 'DATABASE_API_PASSWORD', 'DATABASE_WORKER_PASSWORD'],
  'TEMPORAL_DATABASE_PASSWORD',
];
const KNOWN = new Set([...Object.keys(settings), ...SECRETS.map(fileVariable), ...OF_ROLES]);

/** Settings of an earlier version without such a prefix. */
const REMOVED = ['CLIENT_POOLS'];

/** A line for each variable that has a prefix of the service and is none of its settings. No line has the value. */
export function unknownSettings(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env)
    .filter(
      (name) => env[name] && !KNOWN.has(name) && [...PREFIXES, ...REMOVED].some((prefix) => name.startsWith(prefix)),
    )
    .filter((name) => !SERVICE_LINK.test(name) && !isServiceLink(name, env[name]))
    .map((name) => `${name}: is not a setting and has no effect; remove it or correct its name`)
    .concat(ignoredOfOpenTelemetry(env));
}

/** The variables that OpenTelemetry's SDK reads here, whatever their value. */
const OF_OPEN_TELEMETRY =
  /^OTEL_(SERVICE_NAME|RESOURCE_ATTRIBUTES|SDK_DISABLED|TRACES_SAMPLER(_ARG)?|BSP_\w+|(ATTRIBUTE|SPAN)_\w+_LIMIT|EXPORTER_OTLP_(TRACES_)?(ENDPOINT|HEADERS|TIMEOUT|COMPRESSION|(CLIENT_)?CERTIFICATE|CLIENT_KEY))$/;

/** Further ones, each with the values that say what happens anyway. */
const AS_GIVEN: readonly [name: RegExp, values: RegExp, instead: string][] = [
  [/^OTEL_EXPORTER_OTLP_(TRACES_)?PROTOCOL$/, /^http\/json$/, 'traces are exported with http/json'],
  [/^OTEL_TRACES_EXPORTER$/, /^\s*(otlp|none)\s*$/, 'give otlp or none'],
  [/^OTEL_(METRICS|LOGS)_EXPORTER$/, /^\s*none\s*$/, 'METRICS_PORT has the metrics, standard error the logs'],
  [/^OTEL_PROPAGATORS$/, /^(tracecontext|tracecontext,baggage|baggage,tracecontext)$/, 'W3C Trace Context is used'],
];

/** A line for each variable of OpenTelemetry that has no effect. No line has the value. */
function ignoredOfOpenTelemetry(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env)
    .filter((name) => env[name] && name.startsWith('OTEL_') && !OF_OPEN_TELEMETRY.test(name))
    .flatMap((name) => {
      const [, values, instead = 'remove it'] = AS_GIVEN.find(([pattern]) => pattern.test(name)) ?? [];
      return values?.test(env[name] ?? '') ? [] : [`${name}: has no effect here; ${instead}`];
    });
}
