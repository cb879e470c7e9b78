import { describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { readEnvironment } from '../../../src/platform/config/config.js';
import type { ConfigError } from '../../../src/platform/config/config-error.js';
import { readDatabaseUrl } from '../../../src/platform/config/database-url.js';
import type { Secret } from '../../../src/platform/secret.js';

const BASE = 'postgresql://app:secret@db.internal/app';

/** What `pg` makes of a URL. */
function connectionOf(text: string) {
  const url = readDatabaseUrl(text);
  if (typeof url === 'string') throw new Error(url);
  const { host, port, user, database, ssl, password } = new pg.Client({
    connectionString: (url as Secret).reveal(),
  }) as pg.Client & { database: string; ssl: unknown };
  return { host, port, user, database, password, ssl: Boolean(ssl) };
}

describe.each(['DATABASE_URL', 'DATABASE_DIRECT_URL'])('%s', (variable) => {
  test.each([
    ['schema=transfers', 'schema'],
    ['schema=public&schema=transfers', 'schema twice'],
    ['SCHEMA=public', 'SCHEMA'],
    ['search_path=transfers', 'schema public'],
    ['options=-c%20search_path%3Dtransfers', 'search_path'],
    ['options=-c+statement_timeout%3D1s+-c+Search_Path%3Da', 'search_path'],
    ['connect_timeout=10', 'connect_timeout'],
    ['pgbouncer=true', 'DATABASE_DIRECT_URL'],
    ['statement_timeout=5000', 'options'],
    ['target_session_attrs=standby', 'target_session_attrs'],
    ['sslmode=allow', 'sslmode'],
    ['sslmode=disable&sslmode=verify-full', 'sslmode twice'],
    ['sslrootcert=system', 'sslrootcert'],
    ['hostaddr=10.0.0.1', 'hostaddr'],
    ['host=a,b', 'host'],
    ['toString=1', 'toString'],
  ])('rejects ?%s, and names it', (query, named) => {
    const url = `${BASE}?${query}`;
    try {
      readEnvironment({ [variable]: url });
      throw new Error('it was accepted');
    } catch (error) {
      const [line = '', ...more] = (error as ConfigError).lines ?? [String(error)];
      expect([line, more]).toEqual([expect.stringMatching(`^${variable}: `), []]);
      for (const word of named.split(' ')) expect(line).toContain(word);
    }
  });

  test.each([
    'sslmode=verify-full&sslrootcert=/ca.pem',
    'sslmode=disable',
    'schema=public',
    'options=-c%20statement_timeout%3D5s%20-c%20search_path%3Dpublic',
    'application_name=mine',
    'target_session_attrs=read-write&gssencmode=disable&client_encoding=utf8',
  ])('takes ?%s', (query) => {
    expect(readEnvironment({ [variable]: `${BASE}?${query}` })).toHaveProperty(variable);
  });
});

test.each([
  ['postgresql://app:s%2Fx@/app?host=/run/postgresql', '/run/postgresql', 5432],
  ['postgresql://app:s%2Fx@/app?host=%2Frun%2Fmy%20dir&port=5433', '/run/my dir', 5433],
  ['postgresql://app:s%2Fx@%2Frun%2Fpostgresql/app', '/run/postgresql', 5432],
  ['postgresql:///app?host=/run/postgresql&user=app&password=s/x', '/run/postgresql', 5432],
  ['postgres://app:s%2Fx@localhost?dbname=app&port=6000', 'localhost', 6000],
  ['postgresql://app:s%2Fx@x/app?host=::1', '::1', 5432],
])('%s means the address that libpq reads', (text, host, port) => {
  expect(connectionOf(text)).toEqual({ host, port, user: 'app', database: 'app', password: 's/x', ssl: false });
});

test.each([
  'postgresql://app:secret@/app',
  'postgresql://app:12?pass&word@db.internal/app',
  'postgresql://app:50%off@db.internal/app',
  'postgresql://app:1#x@db.internal/app',
])('%s: an address that cannot be read is rejected, without a part of the password', (text) => {
  const line = readDatabaseUrl(text);
  expect(line).toMatch(/^give a URL of one host, .* for a Unix socket, give its folder/);
});
