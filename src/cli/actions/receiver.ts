import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { harmless, harmlessJson } from '../../../clients/typescript/src/cli/harmless.js';
import { readSecretFile } from '../../../clients/typescript/src/cli/secret-file.js';
import { SignatureError, type SignatureErrorCode, verify } from '../../../clients/typescript/src/verify.js';
import { EXPLANATIONS, type Explanation, explainMismatch } from '../../checks/explain-signature.js';
import type { Arrival } from '../../local/receiver.js';
import { untilSignalled } from '../../process/lifecycle.js';
import type { Command, CommandResult } from '../command.js';

interface VerifyOptions {
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
export async function verifyDelivery(options: VerifyOptions, command: Command): Promise<CommandResult> {
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

function judge(options: VerifyOptions, secret: string | Uint8Array, body: Uint8Array): Verdict {
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

async function readSecret(command: Command, options: VerifyOptions): Promise<string | Uint8Array> {
  if (options.secretFile !== undefined && options.secret === undefined) return readSecretFile(options.secretFile);
  if (options.secret === undefined || options.secretFile !== undefined || options.secret === '') {
    return command.error('error: give either --secret-file or --secret');
  }
  process.stderr.write('note: other users can see --secret in `ps`; use --secret-file to avoid that\n');
  return options.secret;
}

export interface ListenOptions {
  port: number;
  secretFile: string;
  fail: number;
  json?: true;
}

/** `listen`: prints each delivery until a signal stops it. */
export async function listen({ port, secretFile, fail, json }: ListenOptions): Promise<void> {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const { startReceiver } = await import('../../local/receiver.js');
  const receiver = await startReceiver({
    port,
    secret: await readSecretFile(secretFile),
    failFirst: fail,
    onArrival: (arrival) => print(json ? harmlessJson(present(arrival)) : describe(arrival)),
  });
  print(json ? JSON.stringify({ listening: receiver.url }) : `listening on ${receiver.url}`);
  await untilSignalled();
  await receiver.close();
}

/** Requests are untrusted before their signature is checked: longer texts are cut. In characters. */
const LONGEST_SHOWN = 200;
/** Larger `data` is omitted; in characters of JSON. The `data` of an event has about 80. */
const LONGEST_DATA = 4_096;

const cut = (text: string | null) => text?.slice(0, LONGEST_SHOWN) ?? null;

function present(arrival: Arrival) {
  return {
    received_at: arrival.at.toISOString(),
    id: cut(arrival.eventId),
    type: cut(arrival.type),
    data: JSON.stringify(arrival.data).length <= LONGEST_DATA ? arrival.data : null,
    verified: arrival.verified,
    signature: arrival.signature,
    header: cut(arrival.header),
    seen_before: arrival.seenBefore,
    answered: arrival.answered,
  };
}

/** `12:00:01.123  transfer.status_changed SENT  event 0195…  signature verified  → 204` */
function describe(arrival: Arrival): string {
  const { status } = (arrival.data ?? {}) as { status?: unknown };
  const shown = (text: string) => harmless(text, LONGEST_SHOWN);
  const what = arrival.type
    ? `${shown(arrival.type)}${typeof status === 'string' ? ` ${shown(status)}` : ''}`
    : 'no event';
  const verdict = arrival.verified ? 'signature verified' : `BAD SIGNATURE: ${shown(arrival.signature)}`;
  const again = arrival.seenBefore ? '  seen before' : '';
  return `${arrival.at.toISOString().slice(11, 23)}  ${what}  event ${shown(arrival.eventId ?? '-')}  ${verdict}${again}  → ${arrival.answered}`;
}
