import { afterAll } from '@jest/globals';
import type { Authority } from '../../src/auth/authority.js';
import { CLIENT_SCOPES } from '../../src/auth/caller.js';
import { consoleExtension } from '../../src/console/router.js';
import type { QueuedEvent } from '../../src/delivery/handover.js';
import { createApp } from '../../src/http/app.js';
import type { AppDependencies } from '../../src/http/context.js';
import { listen } from '../../src/http/server.js';
import { loadConfig } from '../../src/platform/config/config.js';
import { limitsWithin } from '../../src/platform/database/database.js';
import { MasterKeys } from '../../src/platform/database/encryption.js';
import { newId } from '../../src/platform/ids.js';
import { Refusal } from '../../src/platform/refusal.js';
import { createLog } from '../../src/platform/telemetry/log.js';
import { createMetrics } from '../../src/platform/telemetry/metrics.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { documented, type Reply } from './documented.js';
import { recordingHandover } from './recording-handover.js';

export interface Sent {
  /** Sent as JSON. */
  json?: unknown;
  /** Sent unchanged. */
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
}

export interface TestClient {
  id: string;
  /** The token of the Authorization header. */
  token: string;
  call(method: string, path: string, sent?: Sent): Promise<Reply>;
}

export interface TestApi {
  database: TestDatabase;
  dependencies: AppDependencies;
  url: string;
  port: number;
  /** The events that were handed over after their commits. */
  committed: QueuedEvent[];
  /** Makes a client with its own row. */
  client(scopes?: readonly string[]): Promise<TestClient>;
  call(method: string, path: string, sent?: Sent): Promise<Reply>;
  close(): Promise<void>;
}

export interface TestApiOptions {
  env?: Record<string, string>;
  dependencies?: Partial<AppDependencies>;
  /** An existing database, which `close` does not drop. */
  database?: TestDatabase;
}

/**
 * Starts the complete API on its own port and database. Tokens are not verified: a token names its client and scopes.
 */
export async function startApi(options: TestApiOptions = {}): Promise<TestApi> {
  const database = options.database ?? (await createTestDatabase({ poolSize: 10, limits: limitsWithin(15_000) }));
  const config = loadConfig({
    ENVIRONMENT: 'sandbox',
    DATABASE_URL: database.url.reveal(),
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'),
    BASE_URL: 'https://api.test',
    TRUSTED_PROXIES: 'none',
    RATE_LIMIT: '100000',
    HOST: '127.0.0.1',
    PORT: '0',
    ...options.env,
  });
  const handover = recordingHandover({ retryDelays: config.retryDelays });
  const dependencies: AppDependencies = {
    config,
    database,
    masterKeys: new MasterKeys(config.masterKey),
    handover,
    authority: trustingAuthority,
    metrics: createMetrics(),
    log: createLog('silent', 'test'),
    readiness: async () => ({ ready: true, checks: { postgres: 'ok', migrations: 'ok', temporal: 'ok' } }),
    liveApis: () => 1,
    ...options.dependencies,
  };
  const listening = await listen(createApp(dependencies, consoleExtension), config);
  const url = `http://127.0.0.1:${listening.port}`;
  const check = documented(dependencies);
  const call = async (method: string, path: string, sent?: Sent) => {
    const reply = await request(`${url}${path}`, method, sent);
    check(method, path, reply);
    return reply;
  };
  return {
    database,
    dependencies,
    url,
    port: listening.port,
    committed: handover.events,
    call,
    async client(scopes = CLIENT_SCOPES) {
      const id = newId();
      await database.prisma.client.create({ data: { id, name: 'test', scopes: [...scopes], networks: [] } });
      const token = Buffer.from(JSON.stringify({ clientId: id, scopes })).toString('base64url');
      const authorization = { Authorization: `Bearer ${token}` };
      return {
        id,
        token,
        call: (method, path, sent = {}) =>
          call(method, path, { ...sent, headers: { ...authorization, ...sent.headers } }),
      };
    },
    async close() {
      await listening.close();
      if (!options.database) await database.drop();
    },
  };
}

/** `startApi` for the tests of this file. Call it where the file is loaded. */
export async function openApi(options?: TestApiOptions): Promise<TestApi> {
  const api = await startApi(options);
  afterAll(() => api.close());
  return api;
}

async function request(url: string, method: string, { json, raw, headers }: Sent = {}): Promise<Reply> {
  const body = json === undefined ? raw : JSON.stringify(json);
  const reply = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: body as NonNullable<RequestInit['body']> }),
  });
  const text = await reply.text();
  const isJson = reply.headers.get('content-type')?.includes('json') ?? false;
  return {
    status: reply.status,
    headers: reply.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

const unused = () => Promise.reject(new Error('not available in this test'));

const trustingAuthority: Authority = {
  issuer: 'https://api.test',
  audience: 'https://api.test',
  prepare: async () => {},
  verifyClient: unused,
  verifyAssertion: unused,
  issue: unused,
  async authenticate(bearer) {
    try {
      const { clientId, scopes } = JSON.parse(Buffer.from(bearer, 'base64url').toString());
      return { clientId, secretId: clientId, scopes: new Set<string>(scopes) };
    } catch {
      throw new Refusal('invalid_token', 'not a token of this test');
    }
  },
  signStatement: async () => 'a.signature',
  jwks: async () => ({ keys: [] }),
};
