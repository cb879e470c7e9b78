import { afterAll } from '@jest/globals';
import type { Authority } from '../../src/auth/authority.js';
import { createClient, type NewClient } from '../../src/auth/clients.js';
import type { AppDependencies } from '../../src/http/context.js';
import { freePort } from '../../src/platform/free-port.js';
import { startApi, type TestApi } from './api.js';
import { testAuthority } from './authority.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import type { Reply } from './documented.js';
import { OPERATOR } from './factories.js';

export type Credentials = { client_id: string; client_secret: string };

export interface AuthApi {
  api: TestApi;
  database: TestDatabase;
  authority: Authority;
  /** AUTH_URL */
  authUrl: string;
  /** BASE_URL */
  baseUrl: string;
  client(wanted?: Partial<NewClient>): Promise<Credentials>;
  /** Requests a token as JSON with all fields. `fields` overrides fields; undefined omits a field. */
  token(fields: Record<string, unknown>, headers?: Record<string, string>): Promise<Reply>;
  close(): Promise<void>;
}

export interface AuthApiOptions {
  env?: Record<string, string>;
  /** Path of AUTH_URL, such as `/auth`. */
  authPath?: string;
  /** Host of AUTH_URL, where it has another origin than BASE_URL. */
  authHost?: string;
  /** BASE_URL and AUTH_URL, if they differ from the address that the API listens on. */
  publicUrl?: string;
  dependencies?: Partial<AppDependencies>;
  /** The database that the authority reads instead. */
  store?: (database: TestDatabase) => TestDatabase;
}

/** Starts the complete API with a real authority, at the address that the tokens name. */
export async function startAuthApi(options: AuthApiOptions = {}): Promise<AuthApi> {
  const database = await createTestDatabase({ poolSize: 10 });
  const port = await freePort();
  const baseUrl = options.publicUrl ?? `http://127.0.0.1:${port}`;
  const authOrigin = options.authHost ? `http://${options.authHost}:${port}` : baseUrl;
  const authUrl = `${authOrigin}${options.authPath ?? ''}`;
  const config = { authUrl, baseUrl, accessTokenLifetime: 3_600_000 };
  const authority = testAuthority(options.store?.(database) ?? database, { config });
  const env = { BASE_URL: baseUrl, AUTH_URL: authUrl, PORT: String(port), ...options.env };
  const api = await startApi({ env, database, dependencies: { authority, ...options.dependencies } });
  return {
    api,
    database,
    authority,
    authUrl,
    baseUrl,
    async client(wanted = {}) {
      const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'test', ...wanted });
      return { client_id: client.id, client_secret: clientSecret.reveal() };
    },
    token(fields, headers = {}) {
      const json = { grant_type: 'client_credentials', audience: baseUrl, ...fields };
      return api.call('POST', '/oauth/token', { json, headers });
    },
    async close() {
      await api.close();
      await database.drop();
    },
  };
}

/** `startAuthApi` for the tests of this file. Call it where the file is loaded. */
export async function openAuthApi(options?: AuthApiOptions): Promise<AuthApi> {
  const auth = await startAuthApi(options);
  afterAll(() => auth.close());
  return auth;
}

export function basic({ client_id, client_secret }: Credentials): { Authorization: string } {
  return { Authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` };
}
