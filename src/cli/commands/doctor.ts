import type { Client } from '@temporalio/client';
import { findMasterKeyFault } from '../../auth/master-key.js';
import { type Config, loadConfig } from '../../platform/config/config.js';
import { ConfigError } from '../../platform/config/config-error.js';
import { unknownSettings } from '../../platform/config/environment.js';
import { type Database, openDatabase, rowOf } from '../../platform/database/database.js';
import { MasterKeys } from '../../platform/database/encryption.js';
import { encodingFault, pendingMigrations } from '../../platform/database/migrate.js';
import { findRoleFault } from '../../platform/database/roles.js';
import { VALUE_SETTINGS } from '../../platform/database/server-settings.js';
import { type Finding, finding } from '../../platform/finding.js';
import { cautionsOf, nodeFault } from '../../process/cautions.js';
import { oneLine } from '../../process/lifecycle.js';
import { readWorkflowLoad } from '../../reports/workflow-load.js';
import type { Command, CommandResult } from '../command.js';
import { embeddedTemporalStart, findEnvironment } from '../with-database.js';

/** `doctor` */
export function declare(command: Command): void {
  command.does(doctor, { checks: ['state', 'check', 'detail'] });
}

async function doctor(): Promise<CommandResult> {
  const checks = await examine();
  const failed = checks.filter(({ ok }) => !ok).length;
  const failure = failed > 0 && `${failed} of ${checks.length} checks failed`;
  const ok = failed === 0;
  return { json: { ok, checks }, text: { ok, checks: checks.map(withState) }, failure };
}

const withState = (found: Finding) => ({ ...found, state: !found.ok ? 'FAULT' : found.warning ? 'warning' : 'ok' });

const warning = (check: string, detail: string): Finding => ({ check, ok: true, warning: true, detail });

/** A finding whose fault is a warning. */
const caution = (check: string, good: string, fault: string | false): Finding =>
  fault ? warning(check, fault) : finding(check, good);

async function examine(): Promise<Finding[]> {
  let config: Config;
  const env = await findEnvironment(process.env);
  try {
    config = loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.lines.map((line) => finding('configuration', '', line));
  }
  const database = openDatabase({ url: config.databaseUrl, pooled: config.databasePooled, poolSize: 2 });
  try {
    return [
      finding('configuration', `${config.environment}, ${config.baseUrl}`),
      finding('Node.js', `version ${process.versions.node}`, nodeFault()),
      ...unknownSettings(env).map((detail) => warning('settings', detail)),
      ...cautionsOf(config).map((detail) => warning('security', detail)),
      ...(await postgresFindings(config, database).catch((error: unknown) => [
        finding('Postgres', '', `cannot be reached: ${oneLine(error)}; check DATABASE_URL`),
      ])),
      ...(await temporalFindings(config, database)),
      ...(await notifyFindings(config)),
    ];
  } finally {
    await database.close();
  }
}

/** Sends a test to `NOTIFY_URL`. */
async function notifyFindings(config: Config): Promise<Finding[]> {
  if (!config.notify) return [];
  const { sendTest } = await import('../../notifications/notify.js');
  const outcome = await sendTest(config).catch((error: unknown) => ({ error: oneLine(error), responseStatus: null }));
  const response = outcome?.responseStatus ?? outcome?.error;
  const fault = `a test message to NOTIFY_URL was not received from this machine: ${response}`;
  return [caution('notifications', 'NOTIFY_URL received a test message', Boolean(outcome?.error) && fault)];
}

/** While the embedded stack's Temporal starts, its namespace cannot be checked. */
async function temporalFindings(config: Config, database: Database): Promise<Finding[]> {
  const start = await embeddedTemporalStart();
  if (start?.failed) return [finding('Temporal', '', start.line)];
  if (start) return [warning('Temporal', `starting: ${start.line}`)];
  const every = config.workflows === 'every-event' ? (client: Client) => workflowsFinding(database, client) : undefined;
  return (await import('../../temporal/namespace.js')).temporalFindings(config, every);
}

/** With a workflow for every event, load may exceed what Temporal starts. */
async function workflowsFinding(database: Database, client: Client): Promise<Finding> {
  const check = 'workflows';
  try {
    const { events, starts, isBehind } = await readWorkflowLoad(database, client);
    const rates = `${events} events/s, ${starts} workflow starts/s in the last minute`;
    const remedy = 'set WORKFLOWS=retries-only, or give Temporal more cores, if this load lasts';
    return caution(check, rates, isBehind && `${rates}, and delivered events wait: ${remedy}`);
  } catch (error) {
    return warning(check, `could not be counted: ${oneLine(error)}`);
  }
}

/** The settings that every connection needs. A transaction pooler passes none on, so the role itself must have them. */
const NEEDED: Readonly<Record<string, string>> = { enable_seqscan: 'off', ...VALUE_SETTINGS };
/** Settings of which each, if off, lets a crash of Postgres or its machine lose what a response has acknowledged. */
const DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit'];
/** The largest difference of clocks, s. Beyond it, leases and timers disagree about due times. */
const MAX_CLOCK_DIFFERENCE = 60;

interface PostgresRow {
  version: string;
  encoding: string;
  readOnly: boolean;
  /** The settings of `NEEDED` and `DURABLE`, and `statement_timeout`. */
  current: Record<string, string>;
  /** Of the clocks of Postgres and of this machine, s. */
  difference: number;
}

const spelling = (value = '') => value.replaceAll(' ', '').toLowerCase();

async function postgresFindings(config: Config, database: Database): Promise<Finding[]> {
  const { version, encoding, readOnly, current, difference } = await rowOf<PostgresRow>(
    database,
    `select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
            current_setting('transaction_read_only') = 'on' as "readOnly",
            (select json_object_agg(name, current_setting(name)) from unnest($2::text[]) as name) as current,
            abs(round(extract(epoch from now()))::int - $1::int) as difference`,
    [Math.round(Date.now() / 1_000), [...Object.keys(NEEDED), ...DURABLE, 'statement_timeout']],
  );
  const lacked = Object.keys(NEEDED).filter((name) => spelling(current[name]) !== spelling(NEEDED[name]));
  if (current.statement_timeout === '0') lacked.push('statement_timeout');
  const off = DURABLE.filter((name) => current[name] === 'off');
  const pending = await pendingMigrations(database);
  const masterKeys = new MasterKeys(config.masterKey, config.masterKeyPrevious);
  const clocks = `the clocks of Postgres and of this machine differ by ${difference} s`;
  return [
    finding('Postgres', `version ${version}`, readOnly && READ_ONLY),
    finding('encoding', encoding, encodingFault(encoding)),
    caution(
      'durability',
      'Postgres acknowledges a commit when it is on disk',
      off.length > 0 && `${off.join(', ')}: off, so a crash of Postgres loses acknowledged requests; set on`,
    ),
    ...(config.environment === 'production'
      ? [caution('database role', GOOD_ROLE, await findRoleFault(database))]
      : []),
    ...(lacked.length > 0 ? [warning('settings of Postgres', `connections lack ${lacked.join(', ')}${POOLED}`)] : []),
    finding(
      'migrations',
      'all applied',
      pending.length > 0 && `missing ${pending.join(', ')}; run transfer-service migrate`,
    ),
    ...(pending.length > 0 ? [] : [finding('master key', GOOD_KEY, await findMasterKeyFault(database, masterKeys))]),
    finding('clocks', clocks, difference > MAX_CLOCK_DIFFERENCE && `${clocks}; synchronize both by NTP`),
  ];
}

const READ_ONLY =
  'is read-only, perhaps a standby: let DATABASE_URL lead to the primary, or reset default_transaction_read_only';
const POOLED = ': a transaction pooler passes no settings on; set them for the role (deploy/postgres/roles.sql)';
const GOOD_KEY = 'it opens the secrets of this deployment';
const GOOD_ROLE = 'it has the rights of a running service, and no more';
