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

/** Declares the arguments and options of a command, or the commands of a group. */
type Declare = (command: Command) => void;

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
    if (isCalled(name)) (await load())(command);
  }
  return program;
}

function commandsWith(
  roles: RoleLoaders,
): Readonly<Record<string, readonly [string, () => Promise<Declare> | Declare]>> {
  return {
    start: ['run the whole service, with the embedded stack if no database is configured', () => serves(roles.start)],
    api: ['run only the HTTP API', () => serves(roles.api)],
    worker: ['run only a worker, which delivers webhooks', () => serves(roles.worker)],
    migrate: [
      'apply the database migrations and prepare the Temporal namespace; safe to run concurrently',
      async () => (await import('./commands/deployment.js')).declareMigrate,
    ],
    clients: [
      'manage the clients that may call the API',
      async () => (await import('./commands/clients.js')).declareClients,
    ],
    transfers: [
      'list, show and change transfers of any client',
      async () => (await import('./commands/transfers.js')).declareTransfers,
    ],
    endpoints: [
      'list, disable, enable and check webhook endpoints, limit concurrent attempts, and recover deliveries',
      async () => (await import('./commands/endpoints.js')).declareEndpoints,
    ],
    recoveries: [
      'list and cancel recoveries of webhook endpoints; `endpoints recover` starts one',
      async () => (await import('./commands/recoveries.js')).declareRecoveries,
    ],
    deliveries: [
      'list, show, retry and explain deliveries, and find lost events',
      async () => (await import('./commands/deliveries.js')).declareDeliveries,
    ],
    keys: [
      'list, rotate and revoke the keys that sign tokens and encrypt secrets',
      async () => (await import('./commands/keys.js')).declareKeys,
    ],
    audit: ['read the audit entries: who changed what', async () => (await import('./commands/audit.js')).declareAudit],
    verify: ["check a delivery's signature as a receiver would, and name the mistake", () => ofClient('verify')],
    listen: ['receive, verify and print deliveries on this machine', () => ofClient('listen')],
    doctor: [
      'check the configuration, Postgres, Temporal and the clocks; reports what to fix',
      async () => (await import('./commands/deployment.js')).declareDoctor,
    ],
  };
}

/** Runs the service until a signal stops it. */
function serves(load: () => Promise<Role>): Declare {
  return (command) =>
    command
      .option('--json', 'print {"ready": "<base_url>"} instead of the line `ready <base_url>`')
      .action(async ({ json }: { json?: true }) => {
        // The service does not need the reader of its only line.
        process.stdout.off('error', endUnprinted).on('error', () => undefined);
        const role = await load();
        await role(process.env, json ? announceJson : announceReady).finally(endDespiteStalledLog);
      });
}

/** A command of the client package, which parses its own arguments. */
async function ofClient(name: 'verify' | 'listen'): Promise<Declare> {
  const [{ run }, { listen }, { verify }] = await Promise.all([
    import('../../clients/typescript/src/cli/run.js'),
    import('../../clients/typescript/src/cli/listen.js'),
    import('../../clients/typescript/src/cli/verify.js'),
  ]);
  return (command) =>
    command
      .argument('[options...]')
      .helpOption(false)
      .allowUnknownOption()
      .action(async (args: string[]) => endWith(await run('transfer-service', { listen, verify }, [name, ...args])));
}
