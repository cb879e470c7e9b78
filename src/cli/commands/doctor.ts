import type { Client } from '@temporalio/client';
import { checkMasterKey } from '../../auth/master-key.js';
import { readWorkflowLoad } from '../../delivery/workflow-load.js';
import { type Config, loadConfig } from '../../platform/config/config.js';
import { ConfigError } from '../../platform/config/config-error.js';
import { unknownSettings } from '../../platform/config/environment.js';
import { type Database, openDatabase, rowOf } from '../../platform/database/database.js';
import { MasterKeys } from '../../platform/database/encryption.js';
import { encodingFault, pendingMigrations } from '../../platform/database/migrate.js';
import { type RoleRights, readRoleRights } from '../../platform/database/roles.js';
import { VALUE_SETTINGS } from '../../platform/database/server-settings.js';
import { type Finding, finding } from '../../platform/finding.js';
import { SUPPORTED_NODE } from '../../platform/version.js';
import { cautionsOf, isSupportedNode } from '../../process/cautions.js';
import { oneLine } from '../../process/lifecycle.js';
import type { Command, CommandResult } from '../command.js';
import { embeddedTemporalStart, findEnvironment } from '../with-database.js';

/** `doctor` */
export function declare(command: Command): void {
  command.does(doctor);
}

/** The largest difference of clocks, s. Beyond it, leases and timers disagree about due times. */
const MAX_CLOCK_DIFFERENCE = 60;

async function doctor(): Promise<CommandResult> {
  const findings = await examine();
  const failed = findings.filter(({ ok }) => !ok).length;
  return {
    json: { ok: failed === 0, checks: findings },
    text: {
      rows: findings.map(({ check, ok, warning, detail }) => ({
        result: ok ? (warning ? 'warn' : 'ok') : 'FAIL',
        check,
        detail,
      })),
      wraps: ['detail'],
      none: '',
    },
    failure: failed === 0 ? undefined : `${failed} of ${findings.length} checks failed`,
  };
}

async function examine(): Promise<Finding[]> {
  let config: Config;
  const env = await findEnvironment(process.env);
  try {
    config = loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.lines.map((line) => finding('configuration', '', line));
  }
  return [
    finding('configuration', `${config.environment}, ${config.baseUrl}`),
    nodeFinding(process.versions.node),
    ...unknownSettings(env).map((detail) => warning('settings', detail)),
    ...cautionsOf(config).map((detail) => warning('security', detail)),
    ...(await postgresFindings(config)),
    ...(await temporalFindings(config)),
  ];
}

/** While the embedded stack's Temporal starts, its namespace cannot be checked. */
async function temporalFindings(config: Config): Promise<Finding[]> {
  const start = await embeddedTemporalStart();
  if (start?.failed) return [finding('Temporal', '', start.line)];
  if (start) return [warning('Temporal', `starting: ${start.line}`)];
  const every = config.workflows === 'every-event' ? (client: Client) => workflowsFinding(config, client) : undefined;
  return (await import('../../temporal/namespace.js')).temporalFindings(config.temporal, every);
}

/** With a workflow for every event, load may exceed what Temporal starts. */
async function workflowsFinding(config: Config, client: Client): Promise<Finding> {
  const check = 'workflows';
  const database = openDatabase({ url: config.databaseUrl, pooled: config.databasePooled, poolSize: 1 });
  try {
    const { events, starts, isBehind } = await readWorkflowLoad(database, client);
    const rates = `${events} events/s, ${starts} workflow starts/s in the last minute`;
    if (!isBehind) return finding(check, rates);
    return warning(
      check,
      `${rates}, and delivered events wait: set WORKFLOWS=retries-only, or give Temporal more cores, if this load lasts`,
    );
  } catch (error) {
    return warning(check, `could not be counted: ${oneLine(error)}`);
  } finally {
    await database.close();
  }
}

const warning = (check: string, detail: string): Finding => ({ check, ok: true, warning: true, detail });

function nodeFinding(version: string): Finding {
  const fault = `version ${version} is not supported (${SUPPORTED_NODE}); run the service on Node.js 24`;
  return finding('Node.js', `version ${version}`, !isSupportedNode(version) && fault);
}

function roleFinding({ role, excess }: RoleRights): Finding {
  const check = 'database role';
  if (excess.length === 0) return finding(check, `${role} has the rights of a running service, and no more`);
  return warning(
    check,
    `${role} ${excess.join(', ')}; run the service as a role that \`migrate\` has granted its rights (DATABASE_RUNTIME_ROLE)`,
  );
}

/** A transaction pooler passes no startup options on, so the role itself must have the settings. */
const lacksSettings = (names: readonly string[]) =>
  `connections lack ${names.join(', ')}: a transaction pooler passes no settings on; set them for the role (deploy/postgres/roles.sql)`;

/** The settings that every connection needs, with the values that they must have; null: any but 0. */
const NEEDED: Readonly<Record<string, string | null>> = {
  statement_timeout: null,
  enable_seqscan: 'off',
  ...VALUE_SETTINGS,
};

const spelling = (value: string) => value.replaceAll(' ', '').toLowerCase();

/** The names of the needed settings that the connection has not. */
function settingsLackedIn(current: Readonly<Record<string, string>>): string[] {
  return Object.entries(NEEDED).flatMap(([name, needed]) => {
    const value = current[name] ?? '';
    const has = needed === null ? value !== '0' : spelling(value) === spelling(needed);
    return has ? [] : [name];
  });
}

/** Settings of which each, if off, lets a crash of Postgres or its machine lose what a response has acknowledged. */
const DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit'];

function durabilityFinding(current: Readonly<Record<string, string>>): Finding {
  const off = DURABLE.filter((name) => current[name] === 'off');
  return off.length === 0
    ? finding('durability', 'Postgres acknowledges a commit when it is on disk')
    : warning('durability', `${off.join(', ')}: off, so a crash of Postgres loses acknowledged requests; set on`);
}

const READ_ONLY =
  'is read-only, perhaps a standby: let DATABASE_URL lead to the primary, or reset default_transaction_read_only';

/** @param ahead the clock of Postgres before that of this machine, s */
function clockFinding(ahead: number): Finding {
  const difference = Math.abs(ahead);
  const fault = `the clock of this machine is ${difference} s ${ahead < 0 ? 'ahead of' : 'behind'} the clock of Postgres; synchronize both by NTP`;
  const good = `the clocks of Postgres and of this machine differ by at most ${difference} s`;
  return finding('clocks', good, difference > MAX_CLOCK_DIFFERENCE && fault);
}

async function masterKeyFinding({ masterKey, masterKeyPrevious }: Config, database: Database): Promise<Finding> {
  const check = 'master key';
  try {
    await checkMasterKey(database, new MasterKeys(masterKey, masterKeyPrevious));
    return finding(check, 'it opens the secrets of this deployment');
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return finding(check, '', error.lines.join('; '));
  }
}

interface PostgresRow {
  version: string;
  encoding: string;
  readOnly: boolean;
  /** The settings of `NEEDED` and `DURABLE`. */
  current: Record<string, string>;
  /** Of the clock of Postgres before that of this machine, s. */
  ahead: number;
}

async function postgresFindings(config: Config): Promise<Finding[]> {
  const database = openDatabase({ url: config.databaseUrl, pooled: config.databasePooled, poolSize: 2 });
  try {
    const row = await rowOf<PostgresRow>(
      database,
      `select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
              current_setting('transaction_read_only') = 'on' as "readOnly",
              (select json_object_agg(name, current_setting(name)) from unnest($2::text[]) as name) as current,
              round(extract(epoch from now()))::int - $1::int as ahead`,
      [Math.round(Date.now() / 1_000), [...Object.keys(NEEDED), ...DURABLE]],
    );
    const lacked = settingsLackedIn(row.current);
    const pending = await pendingMigrations(database);
    const masterKey = pending.length > 0 ? [] : [await masterKeyFinding(config, database)];
    return [
      finding('Postgres', `version ${row.version}`, row.readOnly && READ_ONLY),
      finding('encoding', row.encoding, encodingFault(row.encoding)),
      durabilityFinding(row.current),
      ...(config.environment === 'production' ? [roleFinding(await readRoleRights(database))] : []),
      ...(lacked.length > 0 ? [warning('settings of Postgres', lacksSettings(lacked))] : []),
      finding(
        'migrations',
        'all applied',
        pending.length > 0 && `missing ${pending.join(', ')}; run transfer-service migrate`,
      ),
      ...masterKey,
      clockFinding(row.ahead),
    ];
  } catch (error) {
    return [finding('Postgres', '', `cannot be reached: ${oneLine(error)}; check DATABASE_URL`)];
  } finally {
    await database.close();
  }
}
