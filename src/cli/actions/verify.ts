import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { SignatureError, type SignatureErrorCode, verify } from '../../../clients/typescript/src/verify.js';
import { explainMismatch } from '../../webhooks/explain-mismatch.js';
import { EXPLANATIONS, type Explanation } from '../../webhooks/explain-signature.js';
import type { CommandResult } from '../command.js';
import { readSecretFile } from '../secret-file.js';

interface Options {
  secretFile?: string;
  secret?: string;
  header: string;
  body: string;
  explain?: true;
  v0?: string;
  json?: true;
}

/** The verdict on a delivery, as `--json` shows it. */
interface Verdict {
  verified: boolean;
  /** The time of signing; only of a verified delivery. */
  t?: string;
  /** Why the delivery is refused. */
  code?: SignatureErrorCode;
  explanation?: Explanation;
  detail?: string;
}

/** `verify` */
export async function verifyDelivery(options: Options, command: Command): Promise<CommandResult> {
  const secret = await readSecret(command, options);
  const body = options.body === '-' ? await buffer(process.stdin) : await readFile(options.body);
  const verdict = judge(options, secret, body);
  if (verdict.verified) {
    return { json: verdict, text: `verified: signed with this secret at ${verdict.t}` };
  }
  if (options.json) process.stdout.write(`${JSON.stringify(verdict, null, 2)}\n`);
  const { explanation, code, detail } = verdict;
  if (explanation === undefined) throw new Error(detail);
  throw new Error(`${explanation === 'match' ? code : explanation}: ${detail}`);
}

/** The header has no time or no digest that another digest could be compared with. */
const UNREADABLE: readonly (SignatureErrorCode | undefined)[] = ['missing_header', 'malformed_header', 'bad_timestamp'];

function judge(options: Options, secret: string | Uint8Array, body: Uint8Array): Verdict {
  const { header } = options;
  const verdict = check(header, secret, body);
  const asked = options.explain && (verdict.code === 'signature_mismatch' || options.v0 !== undefined);
  if (!asked || UNREADABLE.includes(verdict.code)) return verdict;
  const [t = '', sent = ''] = ['t', 'v0'].map((name) => new RegExp(`(?:^|,)\\s*${name}=([^,\\s]+)`).exec(header)?.[1]);
  const attempt = { t, body: Buffer.from(body).toString(), secret: Buffer.from(secret).toString() };
  const explanation = explainMismatch(attempt, sent, options.v0);
  if (explanation === 'match') return { ...verdict, explanation };
  const code = 'signature_mismatch';
  // `verify` knows a few more differences, such as a byte order mark.
  const ofVerify = explanation === 'unknown' && verdict.code === code ? verdict.detail : undefined;
  return { verified: false, code, explanation, detail: ofVerify ?? EXPLANATIONS[explanation] };
}

function check(header: string, secret: string | Uint8Array, body: Uint8Array): Verdict {
  try {
    return { verified: true, t: verify({ header, body, secret }).t.toISOString() };
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return { verified: false, code: error.code, detail: error.message };
  }
}

async function readSecret(command: Command, options: Options): Promise<string | Uint8Array> {
  if (options.secretFile !== undefined && options.secret === undefined) return readSecretFile(options.secretFile);
  if (options.secret === undefined || options.secretFile !== undefined || options.secret === '') {
    return command.error('error: give either --secret-file or --secret');
  }
  process.stderr.write('note: other users can see --secret in `ps`; use --secret-file to avoid that\n');
  return options.secret;
}
