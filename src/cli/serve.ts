import type { Command } from 'commander';
import { type Announce, announceJson, announceReady } from '../process/announcements.js';

/** `start`, `api`, `worker`: the service, until it is told to end. */
export function addServe(program: Command): void {
  serves(program, 'start', async () => (await import('../main.js')).runService).description(
    'run the whole service, with the embedded stack where no database is configured',
  );
  serves(program, 'api', async () => (await import('../api.js')).runApi).description('run the HTTP API alone');
  serves(program, 'worker', async () => (await import('../worker.js')).runWorker).description(
    'run a worker alone, which makes the deliveries',
  );
}

type Role = (env: NodeJS.ProcessEnv, announce: Announce) => Promise<void>;

/** @param load loads what the role needs, which other commands have no use for */
function serves(program: Command, name: string, load: () => Promise<Role>): Command {
  return program
    .command(name)
    .option('--json', 'print {"ready": "<base_url>"} in place of the line `ready <base_url>`')
    .action(async ({ json }: { json?: true }) => {
      const run = await load();
      await run(process.env, json ? announceJson : announceReady);
    });
}
