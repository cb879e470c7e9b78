import type { Authority } from '../../src/auth/authority.js';
import { createClient, type NewClient } from '../../src/auth/clients.js';
import { freePort } from '../../src/free-port.js';
import type { AppDependencies } from '../../src/http/app.js';
import { type Reply, startApi, type TestApi } from './api.js';
import { testAuthority } from './authority.js';
import { createTestDatabase, type TestDatabase } from './database.js';
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
  /** Asks for a token as the spec says: JSON, all fields; `fields` replaces some, undefined leaves one out. */
  token(fields: Record<string, unknown>, headers?: Record<string, string>): Promise<Reply>;
  close(): Promise<void>;
}

export interface AuthApiOptions {
  env?: Record<string, string>;
  /** Path of AUTH_URL, such as `/auth`. */
  authPath?: string;
  /** BASE_URL and AUTH_URL, where they are not the address that the API really listens on. */
  publicUrl?: string;
  dependencies?: Partial<AppDependencies>;
  /** What the authority reads in place of the database. */
  store?: (database: TestDatabase) => TestDatabase;
}

/** The whole API with its own, real authority, at the address that its tokens name. */
export async function startAuthApi(options: AuthApiOptions = {}): Promise<AuthApi> {
  const database = await createTestDatabase({ poolSize: 10 });
  const port = await freePort();
  const baseUrl = options.publicUrl ?? `http://127.0.0.1:${port}`;
  const authUrl = `${baseUrl}${options.authPath ?? ''}`;
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

export function basic({ client_id, client_secret }: Credentials): { Authorization: string } {
  return { Authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` };
}
