import type { Command } from 'commander';
import { type Announce, announceJson, announceReady } from '../process/announcements.js';
import { endDespiteStalledLog } from '../process/signals.js';

export type Role = (env: NodeJS.ProcessEnv, announce: Announce) => Promise<void>;

/** Each function loads the modules of one role, which the other commands do not need. The entry file passes them. */
export type RoleLoaders = Readonly<Record<'start' | 'api' | 'worker', () => Promise<Role>>>;

/** `start`, `api`, `worker`: run the service until a signal stops it. */
export function addServe(roles: RoleLoaders): (program: Command) => void {
  return (program) => {
    serves(program, 'start', roles.start).description(
      'run the whole service, with the embedded stack if no database is configured',
    );
    serves(program, 'api', roles.api).description('run only the HTTP API');
    serves(program, 'worker', roles.worker).description('run only a worker, which makes the deliveries');
  };
}

function serves(program: Command, name: string, load: () => Promise<Role>): Command {
  return program
    .command(name)
    .option('--json', 'print {"ready": "<base_url>"} instead of the line `ready <base_url>`')
    .action(async ({ json }: { json?: true }) => {
      const run = await load();
      await run(process.env, json ? announceJson : announceReady).finally(endDespiteStalledLog);
    });
}
