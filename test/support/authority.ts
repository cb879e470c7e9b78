import {
  type Authority,
  type AuthorityDependencies,
  openAuthority,
  type VerifiedClient,
} from '../../src/auth/authority.js';
import { createClient, type NewClient } from '../../src/auth/clients.js';
import type { Clock } from '../../src/auth/fresh.js';
import type { Database } from '../../src/platform/database/database.js';
import { masterKeys, OPERATOR } from './factories.js';
import { silentLog } from './silent-log.js';

export const ISSUER = 'https://auth.test';
export const AUDIENCE = 'https://api.test';
export const LIFETIME = 3_600_000;
/** An address of TEST-NET-3 (RFC 5737). */
export const ADDRESS = '203.0.113.7';

/** A clock that a test moves forward. It starts at the real time, since Postgres has its own clock. */
export class TestClock implements Clock {
  #passed = 0;
  readonly #begun = Date.now();

  now(): number {
    return this.#begun + this.#passed;
  }

  steady(): number {
    return this.#passed;
  }

  pass(milliseconds: number): void {
    this.#passed += milliseconds;
  }
}

/** The authority of one process. */
export function testAuthority(database: Database, options: Partial<AuthorityDependencies> = {}): Authority {
  const config = { authUrl: ISSUER, baseUrl: AUDIENCE, accessTokenLifetime: LIFETIME };
  return openAuthority({ config, database, masterKeys, log: silentLog, ...options });
}

/** Makes a client and authenticates it as the token endpoint does. */
export async function verifiedClient(
  authority: Authority,
  database: Database,
  wanted: Partial<NewClient> = {},
): Promise<VerifiedClient> {
  const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'test', ...wanted });
  const verified = await authority.verifyClient(client.id, clientSecret, ADDRESS);
  if (!verified) throw new Error('the new client is refused');
  return verified;
}

/** Records the statements that go through `query` and `hot`, and lets a test make them fail. */
export function watched(database: Database) {
  const statements: string[] = [];
  let broken: (() => Promise<never>) | undefined;
  const watching =
    (run: Database['query']): Database['query'] =>
    (text, values) => {
      statements.push(text);
      return broken ? broken() : run(text, values);
    };
  return {
    database: { ...database, query: watching(database.query), hot: watching(database.hot) } as Database,
    statements,
    /** Makes every later statement fail or hang. */
    breakWith: (failure: (() => Promise<never>) | undefined) => {
      broken = failure;
    },
  };
}
