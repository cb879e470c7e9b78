import type { Command } from 'commander';
import { type Announce, announceJson, announceReady } from '../process/announcements.js';

export type Role = (env: NodeJS.ProcessEnv, announce: Announce) => Promise<void>;

/** Each loads the modules of one role, which the other commands do not need. The entry file gives them. */
export type RoleLoaders = Readonly<Record<'start' | 'api' | 'worker', () => Promise<Role>>>;

/** `start`, `api`, `worker`: the service, until a signal ends it. */
export function addServe(roles: RoleLoaders): (program: Command) => void {
  return (program) => {
    serves(program, 'start', roles.start).description(
      'run the whole service, with the embedded stack where no database is configured',
    );
    serves(program, 'api', roles.api).description('run the HTTP API alone');
    serves(program, 'worker', roles.worker).description('run a worker alone, which makes the deliveries');
  };
}

function serves(program: Command, name: string, load: () => Promise<Role>): Command {
  return program
    .command(name)
    .option('--json', 'print {"ready": "<base_url>"} in place of the line `ready <base_url>`')
    .action(async ({ json }: { json?: true }) => {
      const run = await load();
      await run(process.env, json ? announceJson : announceReady);
    });
}
