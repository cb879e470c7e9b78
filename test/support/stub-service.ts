import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeEach, jest } from '@jest/globals';
import { TransferServiceClient } from '../../clients/typescript/src/client.js';
import type { ClientOptions } from '../../clients/typescript/src/settings.js';

export interface StubRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** `broken` closes the connection without a response, `silent` never responds. */
export type StubAnswer =
  | 'broken'
  | 'silent'
  | { status: number; json?: unknown; text?: string; headers?: Record<string, string> };

export interface StubService {
  url: string;
  /** The requests for tokens. */
  tokens: StubRequest[];
  /** The other requests. */
  requests: StubRequest[];
  /** The next responses to token requests; then a new token for each. */
  tokenAnswers: StubAnswer[];
  /** The next responses to requests; then `otherwise`. */
  answers: StubAnswer[];
  /** Responds when `answers` is empty. */
  otherwise: (request: StubRequest) => StubAnswer | Promise<StubAnswer>;
  /** `expires_in` of the tokens, s. */
  lifetime: number;
  client(options?: Partial<ClientOptions>): TransferServiceClient;
  close(): Promise<void>;
}

export const STUB_SECRET = 'the-secret-of-the-stub-client';

/** A service whose responses a test sets. The first token is `token-1`. */
export async function startStubService(): Promise<StubService> {
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    // Of the test in which the request arrived.
    const { tokens, requests } = stub;
    const taken = { method, url, headers, body: (await buffer(request)).toString() };
    if (url === '/oauth/token') {
      tokens.push(taken);
      const token = { access_token: `token-${tokens.length}`, token_type: 'Bearer', expires_in: stub.lifetime };
      answer(response, stub.tokenAnswers.shift() ?? { status: 200, json: token });
    } else {
      requests.push(taken);
      answer(response, stub.answers.shift() ?? (await stub.otherwise(taken)));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stub: StubService = {
    url,
    tokens: [],
    requests: [],
    tokenAnswers: [],
    answers: [],
    otherwise: () => ({ status: 200, json: { id: 'made' } }),
    lifetime: 3_600,
    client: (options) =>
      new TransferServiceClient({ baseUrl: url, clientId: 'the-client', clientSecret: STUB_SECRET, ...options }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return stub;
}

/** A stub for the tests of this file, which is as new before each. Its clients try again at once. */
export async function openStubService(): Promise<StubService> {
  const stub = await startStubService();
  const { otherwise, lifetime } = stub;
  beforeEach(() => {
    jest.spyOn(Math, 'random').mockReturnValue(0);
    Object.assign(stub, { otherwise, lifetime, tokens: [], requests: [], tokenAnswers: [], answers: [] });
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(() => stub.close());
  return stub;
}

function answer(response: ServerResponse, given: StubAnswer): void {
  if (given === 'silent') return;
  if (given === 'broken') {
    response.destroy();
    return;
  }
  const { status, json, text, headers } = given;
  const type = status >= 400 ? 'application/problem+json' : 'application/json';
  response.writeHead(status, { ...(json !== undefined && { 'content-type': type }), ...headers });
  response.end(json === undefined ? text : JSON.stringify(json));
}

/** A problem of the API. */
export function problem(status: number, code: string, more: Record<string, unknown> = {}): StubAnswer {
  return { status, json: { status, code, detail: `because of ${code}`, ...more }, headers: { 'x-request-id': 'r-1' } };
}
