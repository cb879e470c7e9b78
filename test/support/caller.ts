import { waitFor } from './wait-for.js';

/** A response of the API with its JSON body. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads bodies of any shape
  body: any;
}

/** Calls the API over HTTP as one client, with a token for its credentials. */
export type Caller = (
  method: string,
  path: string,
  json?: unknown,
  headers?: Record<string, string>,
) => Promise<ApiResponse>;

/** @param at the URLs of the service; `address` selects one of several API processes */
export async function caller(
  at: { auth_url: string; base_url: string; address?: string },
  { client_id, client_secret }: { client_id: string; client_secret: string },
): Promise<Caller> {
  const form = { client_id, client_secret, audience: at.base_url, grant_type: 'client_credentials' };
  // On a busy machine a service that has just begun may not reach Postgres in time.
  const { body, status } = await waitFor('a token', async () => {
    const response = await send('POST', `${at.auth_url}/oauth/token`, form);
    return response.status !== 503 && response;
  });
  if (status !== 200) throw new Error(`no token: ${status} ${JSON.stringify(body)}`);
  const authorization = `Bearer ${body.access_token}`;
  return (method, path, json, headers) =>
    send(method, (at.address ?? at.base_url) + path, json, { authorization, ...headers });
}

async function send(
  method: string,
  url: string,
  json?: unknown,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const response = await fetch(url, {
    method,
    headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
    body: json === undefined ? null : JSON.stringify(json),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

/**
 * Repeats a request that had no effect, because the machine is busy and the API could not reach Postgres in time.
 * @returns the body
 */
export async function accepted(request: () => Promise<ApiResponse>): Promise<ApiResponse['body']> {
  return waitFor('a request to be accepted', async () => {
    const response = await request();
    return response.status !== 503 && (await must(Promise.resolve(response)));
  });
}

/** Awaits a call that must succeed. @returns the body */
export async function must(call: Promise<ApiResponse>): Promise<ApiResponse['body']> {
  const { status, body } = await call;
  if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body;
}
