import { Option } from 'commander';
import type { ListenOptions } from './actions/receiver.js';
import { type Command, parseDigest, wholeNumber } from './command.js';

/** `verify` and `listen`: for integrators. `listen --json` prints one line of JSON for each delivery. */
export function addReceiver(program: Command): void {
  program
    .command('verify')
    .description("check a delivery's signature as a receiver would, and report the error")
    .option('--secret-file <file>', "a file with the endpoint's secret (one trailing line break is ignored)")
    .option('--secret <secret>', 'the secret itself; other users of this machine can see it in `ps`')
    .requiredOption('--header <value>', 'the Service-Signature header as received')
    .requiredOption('--body <file>', 'the raw body as received; - reads standard input')
    .option('--explain', 'if the signature does not match, name the mistake and what to change')
    .addOption(
      new Option('--v0 <digest>', 'explain this digest, which the receiver computed')
        .argParser(parseDigest)
        .implies({ explain: true }),
    )
    .does(async () => (await import('./actions/receiver.js')).verifyDelivery);

  program
    .command('listen')
    .description('receive, verify and print deliveries on this machine; stop it with Ctrl-C')
    .requiredOption('--secret-file <file>', "a file with the endpoint's secret (one trailing line break is ignored)")
    .option('--port <port>', 'the port on 127.0.0.1; 0 for a free port', wholeNumber(0, 65_535), 4000)
    .option('--fail <n>', 'respond with 500 to the first n deliveries', wholeNumber(0, 1_000_000), 0)
    .option('--json', 'print a line of JSON for the address and for each delivery')
    .action(async (options: ListenOptions) => (await import('./actions/receiver.js')).listen(options));
}
