import { readBytes } from '../body.js';
import { parseJson } from '../json.js';
import type { AppContext } from '../state.js';
import { InvalidRequest } from './errors.js';

const NAMES = ['client_id', 'client_secret', 'grant_type', 'audience', 'resource', 'scope'] as const;

/** The largest body of a token request, in bytes (contract, Tokens): it is read before the client is authenticated. */
const MAX_TOKEN_BODY_BYTES = 8 * 1024;

/** The fields of a token request that were sent. RFC 6749 §3.2 treats an empty field as omitted. */
export type TokenParameters = Partial<Record<(typeof NAMES)[number], string>>;

/**
 * Reads the body as JSON (the spec's format) or as a form (RFC 6749's format). Unknown fields are ignored (§3.2).
 * @throws InvalidRequest; Refusal payload_too_large | malformed_request
 */
export async function readTokenParameters(ctx: AppContext): Promise<TokenParameters> {
  const encoding = ctx.get('Content-Encoding').trim().toLowerCase();
  if (encoding !== '' && encoding !== 'identity')
    throw new InvalidRequest('Send the body uncompressed, without Content-Encoding.');
  const type = ctx.get('Content-Type').split(';')[0]?.trim().toLowerCase();
  const bytes = await readBytes(ctx, MAX_TOKEN_BODY_BYTES);
  if (type === 'application/json') return fromJson(bytes);
  if (type === 'application/x-www-form-urlencoded') return fromForm(bytes);
  throw new InvalidRequest('Send the body as application/json or application/x-www-form-urlencoded.');
}

function fromJson(bytes: Uint8Array): TokenParameters {
  const body = parseJson(bytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new InvalidRequest('The body is not a JSON object.');
  }
  return pick((name) => (Object.hasOwn(body, name) ? [(body as Record<string, unknown>)[name]] : []));
}

function fromForm(bytes: Uint8Array): TokenParameters {
  let form: URLSearchParams;
  try {
    form = new URLSearchParams(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new InvalidRequest('The body is not valid UTF-8.');
  }
  return pick((name) => form.getAll(name));
}

function pick(valuesOf: (name: string) => readonly unknown[]): TokenParameters {
  const parameters: TokenParameters = {};
  for (const name of NAMES) {
    const [value, ...more] = valuesOf(name);
    if (more.length > 0) throw new InvalidRequest(`${name} appears more than once.`);
    if (value === undefined || value === '') continue;
    if (typeof value !== 'string') throw new InvalidRequest(`${name} is not a string.`);
    parameters[name] = value;
  }
  return parameters;
}
