import { VERSION } from '../platform/version.js';
import { type Announce, announceJson, announceReady, endDespiteStalledLog } from '../process/lifecycle.js';
import { addAudit } from './audit.js';
import { addClients } from './clients.js';
import { type Command, createProgram, endUnprinted, endWith, run } from './command.js';
import { addDeliveries } from './deliveries.js';
import { addEndpoints } from './endpoints.js';
import { addKeys } from './keys.js';
import { addRecoveries } from './recoveries.js';
import { addTransfers } from './transfers.js';

export type Role = (env: NodeJS.ProcessEnv, announce: Announce) => Promise<void>;

/** Each function loads the modules of one role, which the other commands do not need. The entry file passes them. */
export type RoleLoaders = Readonly<Record<'start' | 'api' | 'worker', () => Promise<Role>>>;

/**
 * Runs a command line of `transfer-service` (without node and script).
 * @param prepare runs before the modules of a command are loaded, unless the command runs the service
 * @returns the exit code
 */
export function runCli(args: readonly string[], roles: RoleLoaders, prepare: () => void): Promise<number> {
  const program = createCli(roles).hook('preAction', (_, command) => {
    if (!(command.name() in roles)) prepare();
  });
  return run(program, args);
}

/**
 * The program with all commands. The groups declare names, options and descriptions. The actions of a command are in
 * `actions`, and only that command loads them.
 */
export function createCli(roles: RoleLoaders): Command {
  const program = createProgram('transfer-service')
    .description(
      "The operator's commands. They use the database and the Temporal server that the environment names, or the embedded stack that runs under LOCAL_DIR.",
    )
    .version(VERSION);
  addServe(program, 'start', roles.start).description(
    'run the whole service, with the embedded stack if no database is configured',
  );
  addServe(program, 'api', roles.api).description('run only the HTTP API');
  addServe(program, 'worker', roles.worker).description('run only a worker, which delivers webhooks');
  program
    .command('migrate')
    .description('apply the database migrations and prepare the Temporal namespace; safe to run concurrently')
    .option('--database-only', 'leave Temporal as it is, if others administer its namespace')
    .does(async () => (await import('./actions/deployment.js')).migrateAll);
  const groups = [addClients, addTransfers, addEndpoints, addRecoveries, addDeliveries, addKeys, addAudit];
  for (const add of groups) add(program);
  addOfClient(program, 'verify').description("check a delivery's signature as a receiver would, and name the mistake");
  addOfClient(program, 'listen').description('receive, verify and print deliveries on this machine');
  program
    .command('doctor')
    .description('check the configuration, Postgres, Temporal and the clocks; reports what to fix')
    .does(async () => (await import('./actions/deployment.js')).doctor);
  return program;
}

/** A command that runs the service until a signal stops it. */
function addServe(program: Command, name: string, load: () => Promise<Role>): Command {
  return program
    .command(name)
    .option('--json', 'print {"ready": "<base_url>"} instead of the line `ready <base_url>`')
    .action(async ({ json }: { json?: true }) => {
      // The service does not need the reader of its only line.
      process.stdout.off('error', endUnprinted).on('error', () => undefined);
      const run = await load();
      await run(process.env, json ? announceJson : announceReady).finally(endDespiteStalledLog);
    });
}

/** A command of the client package, which parses its own arguments. */
function addOfClient(program: Command, name: 'verify' | 'listen'): Command {
  return program
    .command(name)
    .argument('[options...]', `see ${name} --help`)
    .helpOption(false)
    .allowUnknownOption()
    .action(async (args: string[]) => {
      const [{ run }, { listen }, { verify }] = await Promise.all([
        import('../../clients/typescript/src/cli/run.js'),
        import('../../clients/typescript/src/cli/listen.js'),
        import('../../clients/typescript/src/cli/verify.js'),
      ]);
      endWith(await run('transfer-service', { listen, verify }, [name, ...args]));
    });
}
