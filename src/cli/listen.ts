import { type Command, InvalidArgumentError } from 'commander';
import type { Options } from './actions/listen.js';

/** `listen`: a local receiver for integrators. With `--json` it prints one line of JSON for each delivery. */
export function addListen(program: Command): void {
  program
    .command('listen')
    .description('receive, verify and print deliveries on this machine; stop it with Ctrl-C')
    .requiredOption('--secret-file <file>', "a file with the endpoint's secret (one trailing line break is ignored)")
    .option('--port <port>', 'the port on 127.0.0.1; 0 for a free port', parseCount(65_535), 4000)
    .option('--fail <n>', 'respond with 500 to the first n deliveries', parseCount(1_000_000), 0)
    .option('--json', 'print a line of JSON for the address and for each delivery')
    .action(async (options: Options) => (await import('./actions/listen.js')).listen(options));
}

function parseCount(max: number) {
  return (text: string): number => {
    if (!/^\d{1,9}$/.test(text) || Number(text) > max)
      throw new InvalidArgumentError(`Give a number from 0 to ${max}.`);
    return Number(text);
  };
}
