import { unknownSettings } from '../../config/unknown-settings.js';
import { type Config, loadConfig } from '../../config.js';
import { ConfigError } from '../../config-error.js';
import { openDatabase } from '../../database/database.js';
import { pendingMigrations } from '../../database/migrate.js';
import { type RoleRights, readRoleRights } from '../../database/runtime-role.js';
import { cautionsOf } from '../../process/cautions.js';
import { oneLine } from '../../process/explain.js';
import { isSupportedNode } from '../../process/runtime.js';
import type { Finding } from '../../temporal/examine.js';
import { SUPPORTED_NODE } from '../../version.js';
import type { CommandResult } from '../command.js';
import { findEnvironment } from '../with-database.js';

/** The largest difference of clocks, s. Beyond it, leases and timers disagree about due times. */
const MAX_CLOCK_DIFFERENCE = 60;

/** `doctor` */
export async function doctor(): Promise<CommandResult> {
  const findings = await examine();
  const failed = findings.filter(({ ok }) => !ok).length;
  return {
    json: { ok: failed === 0, checks: findings },
    text: {
      columns: [{ name: 'result' }, { name: 'check' }, { name: 'detail', wraps: true }],
      rows: findings.map(({ check, ok, warning, detail }) => [ok ? (warning ? 'warn' : 'ok') : 'FAIL', check, detail]),
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
    return error.lines.map((detail) => ({ check: 'configuration', ok: false, detail }));
  }
  const { temporalFindings } = await import('../../temporal/examine.js');
  return [
    { check: 'configuration', ok: true, detail: `${config.environment}, ${config.baseUrl}` },
    nodeFinding(process.versions.node),
    ...unknownSettings(env).map((detail) => ({ check: 'settings', ok: true, warning: true as const, detail })),
    ...cautionsOf(config).map((detail) => ({ check: 'security', ok: true, warning: true as const, detail })),
    ...(await postgresFindings(config)),
    ...(await temporalFindings(config.temporal)),
  ];
}

function nodeFinding(version: string): Finding {
  const ok = isSupportedNode(version);
  return {
    check: 'Node.js',
    ok,
    detail: ok
      ? `version ${version}`
      : `version ${version} is not supported (${SUPPORTED_NODE}); run the service on Node.js 24`,
  };
}

function roleFinding({ role, excess }: RoleRights): Finding {
  const check = 'database role';
  if (excess.length === 0)
    return { check, ok: true, detail: `${role} has the rights of a running service, and no more` };
  return {
    check,
    ok: true,
    warning: true,
    detail: `${role} ${excess.join(', ')}; run the service as a role that \`migrate\` has granted its rights (DATABASE_RUNTIME_ROLE)`,
  };
}

/** A transaction pooler passes no startup options on, so that the role itself must have the time limits. */
function timeLimitFindings(limit: string | undefined): Finding[] {
  if (limit !== '0') return [];
  const detail =
    'statements have no time limit: a transaction pooler passes none on; set it for the role (deploy/postgres/roles.sql)';
  return [{ check: 'time limits', ok: true, warning: true, detail }];
}

async function postgresFindings(config: Config): Promise<Finding[]> {
  const database = openDatabase({ url: config.databaseUrl, pooled: config.databasePooled, poolSize: 2 });
  try {
    const [row] = await database.query<{ version: string; limit: string; ahead: number }>(
      `select current_setting('server_version') as version, current_setting('statement_timeout') as limit,
              round(extract(epoch from now()))::int - $1::int as ahead`,
      [Math.round(Date.now() / 1_000)],
    );
    const ahead = row?.ahead ?? 0;
    const pending = await pendingMigrations(database);
    return [
      { check: 'Postgres', ok: true, detail: `version ${row?.version}` },
      ...(config.environment === 'production' ? [roleFinding(await readRoleRights(database))] : []),
      ...timeLimitFindings(row?.limit),
      {
        check: 'migrations',
        ok: pending.length === 0,
        detail: pending.length === 0 ? 'all applied' : `missing ${pending.join(', ')}; run transfer-service migrate`,
      },
      {
        check: 'clocks',
        ok: Math.abs(ahead) <= MAX_CLOCK_DIFFERENCE,
        detail:
          Math.abs(ahead) <= MAX_CLOCK_DIFFERENCE
            ? `the clocks of Postgres and of this machine differ by at most ${Math.abs(ahead)} s`
            : `the clock of this machine is ${Math.abs(ahead)} s ${ahead < 0 ? 'ahead of' : 'behind'} the clock of Postgres; synchronize both by NTP`,
      },
    ];
  } catch (error) {
    const detail = `cannot be reached: ${oneLine(error)}; check DATABASE_URL`;
    return [{ check: 'Postgres', ok: false, detail }];
  } finally {
    await database.close();
  }
}
