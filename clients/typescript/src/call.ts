import { TransferServiceError } from './error.js';
import { keepEtag } from './etag.js';
import { OPERATIONS } from './generated/openapi.js';
import type { Arguments, Call, ChangeOptions, OperationId, PostOptions, ResultOf } from './operations.js';
import { parseObject, refusalOf } from './refusal.js';
import { Failure, MOST_TIME, withRetries } from './retry.js';
import { type HttpResponse, send } from './send.js';
import type { Settings } from './settings.js';
import { TIME_IS_UP } from './time-limit.js';
import type { TokenSource } from './token.js';

/** Makes the function through which every method of a client calls the API. */
export function createCall(settings: Settings, tokens: TokenSource): Call {
  return async <Id extends OperationId>(id: Id, given: Arguments<Id>, options: PostOptions & ChangeOptions = {}) => {
    const { method, path, open, auth, keyed } = OPERATIONS[id];
    const title = `${method} ${path}`;
    const idempotencyKey = keyed ? checkKey(options.idempotencyKey ?? crypto.randomUUID()) : undefined;
    const limits = {
      deadline: performance.now() + Math.min(checkTimeout(options.timeoutMs ?? MOST_TIME), MOST_TIME),
      signal: options.signal,
    };
    const request = {
      method,
      title,
      url: `${auth ? settings.authUrl : settings.baseUrl}${fill(path, given.path)}${queryOf(given.query)}`,
      ...(given.body !== undefined && { json: given.body }),
      // A repetition after a broken connection could do the work twice, or be refused because of its own change.
      repeatable: method === 'POST' ? keyed === true : method === 'DELETE' || options.ifMatch === undefined,
    };
    const headers = {
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(options.ifMatch !== undefined && { 'if-match': checkTag(options.ifMatch) }),
      ...(options.requestId !== undefined && { 'x-request-id': checkRequestId(options.requestId) }),
    };
    const { secret } = (given.body ?? {}) as { secret?: unknown };
    const secrets = isSecret(secret) ? [secret] : [];
    let renewed = false;
    let outcomeUnknown = false;

    const once = async (): Promise<HttpResponse> => {
      const token = open ? undefined : await waitForToken();
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const response = await send(settings.fetch, { ...request, headers: { ...headers, ...authorization } }, limits);
      if (response.status >= 200 && response.status < 300) return response;
      // An earlier try has deleted the resource.
      if (response.status === 404 && method === 'DELETE' && outcomeUnknown) return response;
      if (token !== undefined) secrets.push(token);
      const refusal = refusalOf(response, { title, secrets: [...secrets, ...tokens.secrets], idempotencyKey });
      if (response.status !== 401 || token === undefined || renewed) throw refusal;
      renewed = true;
      tokens.discard(token);
      throw new Failure(refusal.error, 0, { immediately: true });
    };

    const attempt = () =>
      once().catch((failure: unknown) => {
        if (failure instanceof Failure && failure.more.outcomeUnknown) outcomeUnknown = true;
        throw failure;
      });

    const waitForToken = async (): Promise<string> => {
      try {
        return await tokens.get(limits.deadline - performance.now(), limits.signal);
      } catch (error) {
        if (error !== TIME_IS_UP) throw error;
        throw new TransferServiceError(`${title}: no token within the time limit`, { code: 'timeout' });
      }
    };

    try {
      return read(await withRetries(limits, attempt), title) as ResultOf<Id>;
    } catch (error) {
      if (idempotencyKey === undefined || !(error instanceof TransferServiceError)) throw error;
      throw new TransferServiceError(error.message, { ...error, idempotencyKey });
    }
  };
}

/** The service takes no shorter secret. A short one may be a word of an error, such as `short`. */
function isSecret(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 16;
}

function fill(path: string, values: unknown): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String((values as Record<string, unknown> | undefined)?.[name] ?? '');
    // A dot would be resolved as a path, so that the request reached another operation.
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id, not ${JSON.stringify(value)}`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: object | undefined): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null) search.set(name, String(value));
  }
  return search.size === 0 ? '' : `?${search}`;
}

function checkKey(key: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new TypeError('idempotencyKey must be 1 to 255 visible ASCII characters');
  return key;
}

function checkTimeout(ms: number): number {
  if (typeof ms !== 'number' || !(ms > 0)) throw new TypeError('timeoutMs must be a number of milliseconds above 0');
  return ms;
}

function checkTag(etag: string): string {
  if (typeof etag !== 'string' || !/^[\x20-\x7e]+$/.test(etag)) throw new TypeError('ifMatch must be an ETag or `*`');
  return etag;
}

function checkRequestId(id: string): string {
  if (!/^[\x21-\x7e]{1,128}$/.test(id)) throw new TypeError('requestId must be 1 to 128 visible ASCII characters');
  return id;
}

function read({ status, headers, text }: HttpResponse, title: string): unknown {
  if (status === 204 || status === 404) return undefined;
  if (!headers.get('content-type')?.includes('json')) return text;
  const body = parseObject({ status, headers, text });
  if (body !== undefined) {
    keepEtag(body, headers);
    return body;
  }
  throw new TransferServiceError(`${title}: the response is not a JSON object`, { code: 'invalid_response', status });
}
