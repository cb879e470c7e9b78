import { VERSION } from '../platform/version.js';
import { type Announce, announceJson, announceReady, endDespiteStalledLog } from '../process/lifecycle.js';
import { type Command, createProgram, endUnprinted, endWith, run } from './command.js';

export type Role = (env: NodeJS.ProcessEnv, announce: Announce) => Promise<void>;

/** Each function loads the modules of one role, which the other commands do not need. The entry file passes them. */
export type RoleLoaders = Readonly<Record<'start' | 'api' | 'worker', () => Promise<Role>>>;

/** Runs a command line of `transfer-service` (without node and script). @returns the exit code */
export async function runCli(args: readonly string[], roles: RoleLoaders): Promise<number> {
  return run(await createCli(roles, (name) => name === args[0]), args);
}

/** A module that declares the arguments and options of a command, or the commands of a group. */
interface CommandModule {
  declare(command: Command): void;
}

/**
 * The program. `commands` holds what a command does with what it is given: its modules dominate the start of a command,
 * so only those of the command that is called are loaded.
 * @param isCalled whether to declare a command in full; of others the program has name and description
 */
export async function createCli(roles: RoleLoaders, isCalled: (name: string) => boolean): Promise<Command> {
  const program = createProgram('transfer-service')
    .description(
      "The operator's commands. They use the database and the Temporal server that the environment names, or the embedded stack that runs under LOCAL_DIR.",
    )
    .version(VERSION);
  for (const [name, [description, load]] of Object.entries(commandsWith(roles))) {
    const command = program.command(name).description(description);
    if (isCalled(name)) (await load()).declare(command);
  }
  return program;
}

type Commands = Readonly<Record<string, readonly [string, () => Promise<CommandModule> | CommandModule]>>;

const commandsWith = (roles: RoleLoaders): Commands => ({
  start: ['run the whole service, with the embedded stack if no database is configured', () => serves(roles.start)],
  api: ['run only the HTTP API', () => serves(roles.api)],
  worker: ['run only a worker, which delivers webhooks', () => serves(roles.worker)],
  migrate: [
    'apply the database migrations and prepare the Temporal namespace; safe to run concurrently',
    () => import('./commands/migrate.js'),
  ],
  clients: ['manage the clients that may call the API', () => import('./commands/clients.js')],
  transfers: ['list, show and change transfers of any client', () => import('./commands/transfers.js')],
  endpoints: [
    'list, disable, enable and check webhook endpoints, limit concurrent attempts, and recover deliveries',
    () => import('./commands/endpoints.js'),
  ],
  recoveries: [
    'list and cancel recoveries of webhook endpoints; `endpoints recover` starts one',
    () => import('./commands/recoveries.js'),
  ],
  deliveries: [
    'list, show, retry and explain deliveries, and find lost events',
    () => import('./commands/deliveries.js'),
  ],
  keys: ['list, rotate and revoke the keys that sign tokens and encrypt secrets', () => import('./commands/keys.js')],
  audit: ['read the audit entries: who changed what', () => import('./commands/audit.js')],
  verify: ["check a delivery's signature as a receiver would, and name the mistake", () => ofClient('verify')],
  listen: ['receive, verify and print deliveries on this machine', () => ofClient('listen')],
  doctor: [
    'check the configuration, Postgres, Temporal and the clocks; reports what to fix',
    () => import('./commands/doctor.js'),
  ],
});

/** Runs the service until a signal stops it. */
function serves(load: () => Promise<Role>): CommandModule {
  return {
    declare: (command) =>
      command
        .option('--json', 'print {"ready": "<base_url>"} instead of the line `ready <base_url>`')
        .action(async ({ json }: { json?: true }) => {
          // The service does not need the reader of its only line.
          process.stdout.off('error', endUnprinted).on('error', () => undefined);
          const role = await load();
          await role(process.env, json ? announceJson : announceReady).finally(endDespiteStalledLog);
        }),
  };
}

/** A command of the client package, which parses its own arguments. */
async function ofClient(name: 'verify' | 'listen'): Promise<CommandModule> {
  const [{ run }, { listen }, { verify }] = await Promise.all([
    import('../../clients/typescript/src/cli/run.js'),
    import('../../clients/typescript/src/cli/listen.js'),
    import('../../clients/typescript/src/cli/verify.js'),
  ]);
  return {
    declare: (command) =>
      command
        .argument('[options...]')
        .helpOption(false)
        .allowUnknownOption()
        .action(async (args: string[]) => endWith(await run('transfer-service', { listen, verify }, [name, ...args]))),
  };
}
