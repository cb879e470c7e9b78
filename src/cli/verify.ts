import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { SignatureError, verify } from '../webhooks/verify.js';
import { setAction } from './command.js';
import { readSecretFile } from './secret-file.js';

interface Options {
  secretFile?: string;
  secret?: string;
  header: string;
  body: string;
  json?: true;
}

/** `verify`: checks a delivery's signature as a receiver would. */
export function addVerify(program: Command): void {
  const command = program
    .command('verify')
    .description("check a delivery's signature as a receiver would, and report the error")
    .option('--secret-file <file>', "a file with the endpoint's secret (one trailing line break is ignored)")
    .option('--secret <secret>', 'the secret itself; other users of this machine can see it in `ps`')
    .requiredOption('--header <value>', 'the Service-Signature header as received')
    .requiredOption('--body <file>', 'the raw body as received; - reads standard input');

  setAction(command, async (options: Options) => {
    const secret = await readSecret(command, options);
    const body = options.body === '-' ? await buffer(process.stdin) : await readFile(options.body);
    try {
      const { t } = verify({ header: options.header, body, secret });
      return {
        json: { verified: true, t: t.toISOString() },
        text: `verified: signed with this secret at ${t.toISOString()}`,
      };
    } catch (error) {
      if (error instanceof SignatureError && options.json) {
        process.stdout.write(
          `${JSON.stringify({ verified: false, code: error.code, detail: error.message }, null, 2)}\n`,
        );
      }
      throw error;
    }
  });
}

async function readSecret(command: Command, options: Options): Promise<string | Uint8Array> {
  if (options.secretFile !== undefined && options.secret === undefined) return readSecretFile(options.secretFile);
  if (options.secret === undefined || options.secretFile !== undefined || options.secret === '') {
    return command.error('error: give either --secret-file or --secret');
  }
  process.stderr.write('note: other users can see --secret in `ps`; use --secret-file to avoid that\n');
  return options.secret;
}
