import { type Command, idOf, parseLimit } from './command.js';

/** `recoveries …`: recoveries of endpoints, which `endpoints recover` starts. */
export function addRecoveries(program: Command): void {
  const recoveries = program
    .command('recoveries')
    .description('list and cancel recoveries of webhook endpoints; `endpoints recover` starts one');

  recoveries
    .command('list')
    .description('list recoveries with their progress, newest first')
    .option('--endpoint <webhookId>', 'only recoveries of this endpoint', idOf('webhook endpoint'))
    .option('--limit <n>', 'at most this many recoveries', parseLimit, 50)
    .option('--cursor <recovery_id>', 'the last recovery of the previous page', idOf('recovery'))
    .does(async () => (await import('./actions/recoveries.js')).list);

  recoveries
    .command('cancel')
    .argument('<recovery_id>', '', idOf('recovery'))
    .description('stop queueing deliveries; those that are queued continue')
    .does(async () => (await import('./actions/recoveries.js')).cancel);
}
