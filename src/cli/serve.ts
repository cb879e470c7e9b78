import type { Command } from 'commander';

/** `start`, `api`, `worker`: the service, until it is told to end. */
export function addServe(program: Command): void {
  program
    .command('start')
    .description('run the whole service, with the embedded stack where no database is configured')
    .option('--json', 'accepted everywhere; the line `ready <base_url>` stays as it is')
    .action(async () => (await import('../main.js')).runService(process.env));
  program
    .command('api')
    .description('run the HTTP API alone')
    .option('--json', 'accepted everywhere; the line `ready <base_url>` stays as it is')
    .action(async () => (await import('../api.js')).runApi(process.env));
  program
    .command('worker')
    .description('run a worker alone, which makes the deliveries')
    .option('--json', 'accepted everywhere; a worker prints nothing on standard output')
    .action(async () => (await import('../worker.js')).runWorker(process.env));
}
