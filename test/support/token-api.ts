import { expect } from '@jest/globals';
import { type AuthApi, type AuthApiOptions, type Credentials, openAuthApi } from './auth-api.js';
import type { Reply } from './documented.js';

/** The content type of a form, for `raw`. */
export const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

export interface TokenApi extends Omit<AuthApi, 'token'> {
  /** A client with every scope. */
  credentials: Credentials;
  /** The fields of a form that name the grant and the audience. */
  grant(): { grant_type: string; audience: string };
  /** Asks for a token by JSON, with `fields` beside the grant. */
  token(fields: Record<string, unknown>, headers?: Record<string, string>): Promise<Reply>;
  /** Asks for a token with this body. */
  raw(body: string | Uint8Array, headers?: Record<string, string>): Promise<Reply>;
  /** Asks for a token by a form. */
  form(fields: Record<string, string>, headers?: Record<string, string>): Promise<Reply>;
}

let last = 0;
/** The header that names the caller's address: a new address for each request, so that failures count separately. */
export const from = (address = `2001:db8:0:${(++last).toString(16)}::1`) => ({ 'X-Forwarded-For': address });

/** The API with its authority, behind a proxy that it trusts, for the tests of this file. */
export async function openTokenApi(options: AuthApiOptions = {}): Promise<TokenApi> {
  const auth = await openAuthApi({ ...options, env: { TRUSTED_PROXIES: '127.0.0.0/8', ...options.env } });
  const raw: TokenApi['raw'] = (body, headers) =>
    auth.api.call('POST', '/oauth/token', { raw: body, headers: { ...from(), ...headers } });
  return {
    ...auth,
    credentials: await auth.client(),
    grant: () => ({ grant_type: 'client_credentials', audience: auth.baseUrl }),
    token: (fields, headers) => auth.token(fields, { ...from(), ...headers }),
    raw,
    form: (fields, headers) => raw(new URLSearchParams(fields).toString(), { ...FORM, ...headers }),
  };
}

/** The status and the error code of a response, which must have the form of RFC 6749 §5.2. */
export function tokenError({ status, headers, body }: Reply): [number, string] {
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
  expect(Object.keys(body)).toEqual(['error', 'error_description']);
  expect(body.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  return [status, body.error];
}
