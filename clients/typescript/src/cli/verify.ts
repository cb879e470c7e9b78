import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { EXPLANATIONS, type Explanation, explainRequest } from '../explain.js';
import {
  parseHeader,
  SignatureError,
  type SignatureErrorCode,
  verify as verifyDelivery,
  verifyStandard,
} from '../verify.js';
import { type Command, type Given, required, UsageError } from './command.js';
import { harmless, harmlessJson } from './harmless.js';
import { readSecretFile } from './secret-file.js';

/** In characters. A longer text is no digest of any kind. */
const LONGEST_DIGEST = 512;

export const verify: Command = {
  summary: "check a delivery's signature as a receiver would, and name the mistake",
  usage: '--secret-file FILE --header VALUE --body FILE [--v0 DIGEST] [--json]',
  help: `  --secret-file FILE   the endpoint's secret (one trailing line break is ignored)
  --secret SECRET      the secret itself, in place of the file; other users of this machine can see it in \`ps\`
  --header VALUE       the Service-Signature header as received, or that of webhook-signature, with
  --webhook-id ID and --webhook-timestamp SECONDS, the other headers of Standard Webhooks
  --body FILE          the raw body as received; - reads standard input
  --v0 DIGEST          explain this digest, which the receiver computed
  --json               print one JSON document`,
  options: {
    'secret-file': { type: 'string' },
    secret: { type: 'string' },
    header: { type: 'string' },
    'webhook-id': { type: 'string' },
    'webhook-timestamp': { type: 'string' },
    body: { type: 'string' },
    v0: { type: 'string' },
    json: { type: 'boolean' },
  },
  async run(given) {
    const { values, print, warn } = given;
    const header = required(values, 'header');
    const path = required(values, 'body');
    const { v0 } = values;
    if (typeof v0 === 'string' && v0.length > LONGEST_DIGEST) {
      throw new UsageError(`--v0 must have at most ${LONGEST_DIGEST} characters`);
    }
    const secret = await readSecret(given);
    const body = path === '-' ? await buffer(process.stdin) : await readFile(path);
    const verdict = judge(
      { header, body, secret, standard: readStandard(given) },
      typeof v0 === 'string' ? v0 : undefined,
    );
    const { verified, t, code, explanation, detail } = verdict;
    if (values.json) print(harmlessJson(verdict));
    else if (verified) print(`verified: signed with this secret at ${t}`);
    if (!verified) warn(harmless(`${explanation && explanation !== 'match' ? explanation : code}: ${detail}`));
    return verified ? 0 : 1;
  },
};

/** The verdict on a delivery, as `--json` shows it. */
interface Verdict {
  verified: boolean;
  /** The time of signing; only of a verified delivery. */
  t?: string;
  code?: SignatureErrorCode;
  explanation?: Explanation | undefined;
  detail?: string;
}

interface Received {
  header: string;
  body: Uint8Array;
  secret: string | Uint8Array;
  /** The other headers of Standard Webhooks; undefined: it is `Service-Signature`. */
  standard?: { 'webhook-id': string; 'webhook-timestamp': string } | undefined;
}

/** @param computed the digest that the receiver computed */
function judge(received: Received, computed: string | undefined): Verdict {
  const { header, body, secret } = received;
  const verdict = check(received);
  const isReadable = verdict.verified || ['signature_mismatch', 'too_old', 'too_new'].includes(`${verdict.code}`);
  if (computed === undefined || !isReadable) return verdict;
  const { t, signature } = parseHeader(header);
  const explanation = explainRequest({ t, body, secret }, signature.toString('hex'), computed);
  if (explanation === 'match') return { ...verdict, explanation };
  return { verified: false, code: 'signature_mismatch', explanation, detail: EXPLANATIONS[explanation] };
}

function check(received: Received): Verdict {
  try {
    const { header, standard, ...signed } = received;
    const { t } = standard
      ? verifyStandard({ ...signed, headers: { ...standard, 'webhook-signature': header } })
      : verifyDelivery({ ...signed, header });
    return { verified: true, t: t.toISOString() };
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    const { code, explanation, message } = error;
    return { verified: false, code, explanation, detail: explanation ? EXPLANATIONS[explanation] : message };
  }
}

function readStandard({ values }: Given): Received['standard'] {
  if (values['webhook-id'] === undefined && values['webhook-timestamp'] === undefined) return undefined;
  if (values.v0 !== undefined) throw new UsageError('--v0 is of Service-Signature');
  return {
    'webhook-id': required(values, 'webhook-id'),
    'webhook-timestamp': required(values, 'webhook-timestamp'),
  };
}

async function readSecret({ values, warn }: Given): Promise<string | Uint8Array> {
  const { 'secret-file': file, secret } = values;
  if (typeof file === 'string' && secret === undefined) return readSecretFile(file);
  if (typeof secret !== 'string' || secret === '' || file !== undefined) {
    throw new UsageError('give either --secret-file or --secret');
  }
  warn('note: other users can see --secret in `ps`; use --secret-file to avoid that');
  return secret;
}
