import { readFile } from 'node:fs/promises';
import { type SignedStatement, StatementError, type StatementErrorCode, verifyStatement } from '../statement.js';
import { type Command, type Given, UsageError } from './command.js';
import { harmless, harmlessJson } from './harmless.js';

export const verifyStatementCommand: Command = {
  summary: 'verify a signed statement, and that it counts the events that you have',
  usage: 'FILE [--ids FILE] [--jwks FILE] [--issuer URL] [--json]',
  help: `Exits with 0 if the statement is genuine and the ids are those of its events.

  FILE                 the statement as JSON, or its signature alone; - reads standard input
  --ids FILE           the ids of the events that you have of its window, one a line, in any order
  --jwks FILE          the key set, for use offline: a copy of {auth_url}/.well-known/jwks.json?retired=true
                       default: read from the issuer
  --issuer URL         the auth_url of the service that you trust; without it, compare the printed one
  --json               print one JSON document`,
  options: {
    ids: { type: 'string' },
    jwks: { type: 'string' },
    issuer: { type: 'string' },
    json: { type: 'boolean' },
  },
  positionals: 1,
  async run(given) {
    const { values, print, warn } = given;
    const [file] = given.positionals;
    if (!file) throw new UsageError('give the FILE of a statement');
    const { ids, issuer } = values;
    const statement = parseStatement(await readText(file));
    const verdict = judge({
      statement,
      jwks: await readKeys(given, statement),
      ...(typeof issuer === 'string' && { issuer }),
      ...(typeof ids === 'string' && { ids: (await readText(ids)).split(/\s+/).filter(Boolean) }),
    });
    if (values.json) print(harmlessJson(verdict));
    else for (const line of describe(verdict, ids !== undefined)) print(harmless(line));
    if (!verdict.verified) warn(harmless(`${verdict.code}: ${verdict.detail}`));
    return verdict.verified ? 0 : 1;
  },
};

type Verdict =
  | { verified: true; statement: SignedStatement }
  | { verified: false; code: StatementErrorCode; detail: string };

function judge(evidence: Parameters<typeof verifyStatement>[0]): Verdict {
  try {
    return { verified: true, statement: verifyStatement(evidence) };
  } catch (error) {
    if (!(error instanceof StatementError)) throw error;
    return { verified: false, code: error.code, detail: error.message };
  }
}

function describe(verdict: Verdict, withIds: boolean): string[] {
  if (!verdict.verified) return [];
  const { iss, iat, sub, webhookId, since, until, events, complete, ...counts } = verdict.statement;
  const { succeeded, pending, failed, cancelled, missing } = counts;
  return [
    `verified: signed by ${iss} at ${new Date(iat * 1_000).toISOString()}`,
    `client ${sub}, endpoint ${webhookId}, events made in [${since}, ${until})`,
    `${events} events: ${succeeded} succeeded, ${pending} pending, ${failed} failed, ${cancelled} cancelled, ${missing} missing`,
    complete ? 'complete: every event was delivered' : 'not complete',
    ...(withIds ? ['the ids are those of these events'] : []),
  ];
}

const readText = async (path: string) => (path === '-' ? readStandardInput() : readFile(path, 'utf8'));

async function readStandardInput(): Promise<string> {
  const { text } = await import('node:stream/consumers');
  return text(process.stdin);
}

function parseStatement(text: string): string | object {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{')) return trimmed;
  return parseJson(trimmed, 'the statement');
}

function parseJson(text: string, what: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    throw new UsageError(`${what} is not JSON`);
  }
}

async function readKeys({ values, signal }: Given, statement: string | object): Promise<{ keys: readonly object[] }> {
  const { jwks: file, issuer } = values;
  if (typeof file === 'string') return keySetOf(parseJson(await readFile(file, 'utf8'), file), file);
  const url = keysUrl(typeof issuer === 'string' ? issuer : issuerOf(statement));
  const response = await fetch(url, { signal, redirect: 'error' });
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  return keySetOf(parseJson(await response.text(), url), url);
}

function keySetOf(value: object, where: string): { keys: readonly object[] } {
  if ('keys' in value && Array.isArray(value.keys)) return { keys: value.keys };
  throw new UsageError(`${where} is not a JSON Web Key Set`);
}

/** Keys that came over a connection that others can change prove nothing. */
function keysUrl(issuer: string): string {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(`${url?.hostname}`);
  if (!url || (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal))) {
    throw new UsageError(`the keys of ${issuer} cannot be read safely: give --jwks FILE`);
  }
  return `${issuer.replace(/\/$/, '')}/.well-known/jwks.json?retired=true`;
}

function issuerOf(statement: string | object): string {
  const signature = typeof statement === 'string' ? statement : 'signature' in statement ? statement.signature : '';
  try {
    const payload = Buffer.from(String(signature).split('.')[1] ?? '', 'base64url').toString();
    return String((JSON.parse(payload) as { iss: unknown }).iss);
  } catch {
    throw new StatementError('not_signed', 'the statement has no signature: request it again when it is final');
  }
}
