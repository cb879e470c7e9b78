import { type Command, Option } from 'commander';
import { parseDigest } from './arguments.js';
import { setAction } from './command.js';

/** `verify`: checks a delivery's signature as a receiver would. */
export function addVerify(program: Command): void {
  const command = program
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
    );

  setAction(command, async () => (await import('./actions/verify.js')).verifyDelivery);
}
