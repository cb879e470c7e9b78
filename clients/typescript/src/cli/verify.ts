import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { SignatureError, verify as verifyDelivery } from '../verify.js';
import { type Command, required } from './command.js';
import { harmlessJson } from './harmless.js';
import { readSecretFile } from './secret-file.js';

export const verify: Command = {
  summary: "check a delivery's signature as a receiver would, and report the error",
  usage: '--secret-file FILE --header VALUE --body FILE [--json]',
  help: `  --secret-file FILE   the endpoint's secret (one trailing line break is ignored)
  --header VALUE       the Service-Signature header as received
  --body FILE          the raw body as received; - reads standard input
  --json               print one JSON document`,
  options: {
    'secret-file': { type: 'string' },
    header: { type: 'string' },
    body: { type: 'string' },
    json: { type: 'boolean' },
  },
  async run({ values, print }) {
    const header = required(values, 'header');
    const path = required(values, 'body');
    const secret = await readSecretFile(required(values, 'secret-file'));
    const body = path === '-' ? await buffer(process.stdin) : await readFile(path);
    try {
      const t = verifyDelivery({ header, body, secret }).t.toISOString();
      print(values.json ? harmlessJson({ verified: true, t }) : `verified: signed with this secret at ${t}`);
      return 0;
    } catch (error) {
      if (error instanceof SignatureError && values.json) {
        print(harmlessJson({ verified: false, code: error.code, detail: error.message }));
      }
      throw error;
    }
  },
};
