import { CommanderError } from 'commander';
import { harmless } from '../../clients/typescript/src/cli/harmless.js';
import { VERSION } from '../platform/version.js';
import { type Announce, announceJson, announceReady, endDespiteStalledLog, explain } from '../process/lifecycle.js';
import { Command } from './command.js';

export type Role = (env: NodeJS.ProcessEnv, announce: Announce) => Promise<void>;

/** Each function loads the modules of one role, which the other commands do not need. The entry file passes them. */
export type RoleLoaders = Readonly<Record<'start' | 'api' | 'worker', () => Promise<Role>>>;

/** Exit codes. */
const SUCCESS = 0;
const FAILURE = 1;
const INVALID_ARGUMENTS = 2;

/** Runs a command line of `transfer-service` (without node and script). Never throws. @returns the exit code */
export async function runCli(args: readonly string[], roles: RoleLoaders): Promise<number> {
  process.stdout.on('error', endUnprinted);
  // An error that nobody can read still has its exit code.
  process.stderr.on('error', () => undefined);
  const [called = ''] = args;
  try {
    if (['verify', 'listen'].includes(called)) return await runOfClient(args);
    const program = await createCli(roles, (name) => name === called);
    await program.parseAsync([...args], { from: 'user' });
    return SUCCESS;
  } catch (error) {
    if (error instanceof CommanderError) return exitCodeOf(error);
    for (const line of explain(error)) process.stderr.write(`${harmless(line)}\n`);
    return FAILURE;
  }
}

function exitCodeOf({ exitCode, code }: CommanderError): number {
  if (exitCode === SUCCESS) return SUCCESS;
  if (code === 'commander.help') process.stderr.write('error: give a command; --help lists them\n');
  return INVALID_ARGUMENTS;
}

/**
 * Ends a command that cannot print. A reader that has what it wanted, such as `head`, is no failure; a full disk is.
 */
function endUnprinted({ code, message }: NodeJS.ErrnoException): void {
  // Later, when `runCli` has returned the exit code.
  setImmediate(() => {
    if (code === 'EPIPE') process.exit();
    process.stderr.write(`the output cannot be written: ${message}\n`);
    process.exit(FAILURE);
  });
}

/** Runs a command of the client package, which parses its own arguments. */
async function runOfClient(args: readonly string[]): Promise<number> {
  const [{ run }, { listen }, { verify }] = await Promise.all([
    import('../../clients/typescript/src/cli/run.js'),
    import('../../clients/typescript/src/cli/listen.js'),
    import('../../clients/typescript/src/cli/verify.js'),
  ]);
  return run('transfer-service', { listen, verify }, args);
}

/**
 * The program. `commands` holds what a command does with what it is given: its modules dominate the start of a command,
 * so only those of the command that is called are loaded.
 * @param isCalled whether to declare a command in full; of others the program has name and description
 */
export async function createCli(roles: RoleLoaders, isCalled: (name: string) => boolean): Promise<Command> {
  const program = new Command('transfer-service')
    .exitOverride()
    .helpCommand(false)
    .configureOutput({
      // Commander prints its help on an error; `runCli` prints one line instead.
      writeErr: () => {},
      outputError: (text) => process.stderr.write(`${text.trim().replace(/\s*\n\s*/g, ' ')}\n`),
    })
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

/** A module that declares the arguments and options of a command, or the commands of a group. */
interface CommandModule {
  declare(command: Command): void;
}

const commandsWith = (roles: RoleLoaders): Record<string, [string, () => Promise<CommandModule> | CommandModule]> => ({
  start: ['run the whole service, with the embedded stack if no database is configured', () => serves(roles.start)],
  api: ['run only the HTTP API', () => serves(roles.api)],
  worker: ['run only a worker, which delivers webhooks', () => serves(roles.worker)],
  migrate: ['apply the migrations, and prepare the Temporal namespace', () => import('./commands/migrate.js')],
  clients: ['manage the clients that may call the API', () => import('./commands/clients.js')],
  transfers: ['list, show and change transfers of any client', () => import('./commands/transfers.js')],
  endpoints: ['list, change, check and recover webhook endpoints', () => import('./commands/endpoints.js')],
  recoveries: ['list and cancel recoveries of webhook endpoints', () => import('./commands/recoveries.js')],
  deliveries: ['list, show, retry and explain deliveries; find lost ones', () => import('./commands/deliveries.js')],
  keys: ['list, rotate and revoke the keys that sign tokens and encrypt secrets', () => import('./commands/keys.js')],
  audit: ['read the audit entries: who changed what', () => import('./commands/audit.js')],
  verify: ["check a delivery's signature as a receiver would, and name the mistake", () => ({ declare: () => {} })],
  listen: ['receive, verify and print deliveries on this machine', () => ({ declare: () => {} })],
  doctor: ['check configuration, Postgres, Temporal and clocks', () => import('./commands/doctor.js')],
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
