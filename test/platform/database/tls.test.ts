import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDatabase } from '../../../src/platform/database/database.js';
import { Secret } from '../../../src/platform/secret.js';
import { makeAuthorities } from '../../support/certificates.js';
import { runCommand } from '../../support/command.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startTlsPostgres, type TlsPostgres } from '../../support/tls-postgres.js';

// Postgres with a certificate of a private CA, as docs/operations/deployment.md describes it.

const authorities = makeAuthorities();
const ca = authorities.make('ca');
const foreign = authorities.make('foreign');
let db: TestDatabase;
let server: TlsPostgres;

beforeAll(async () => {
  db = await createTestDatabase();
  // The template of test databases is made with no record of its migrations.
  await db.pool.query('drop schema public cascade; create schema public');
  const { certificate, key } = ca.sign('postgres', 'localhost');
  const keys = { cert: authorities.read(certificate), key: authorities.read(key) };
  server = await startTlsPostgres(Number(new URL(db.url.reveal()).port), keys);
});
afterAll(async () => {
  server.close();
  authorities.remove();
  await db.drop();
});

function urlWith(parameters: Record<string, string>, host = 'localhost'): string {
  const url = new URL(db.url.reveal());
  url.host = `${host}:${server.port}`;
  url.search = new URLSearchParams(parameters).toString();
  return url.href;
}
const cliWith = (args: string[], parameters: Record<string, string>, host?: string) =>
  runCommand(args, {
    ...{ ENVIRONMENT: 'sandbox', DATABASE_URL: urlWith(parameters, host) },
    MASTER_KEY: randomBytes(32).toString('base64'),
  });

describe('sslmode=verify-full with the private CA in sslrootcert', () => {
  const TRUSTED = { sslmode: 'verify-full', sslrootcert: ca.certificate };

  it('serves migrate, commands and the pool of a process', async () => {
    expect(await cliWith(['migrate', '--database-only'], TRUSTED)).toMatchObject({ code: 0, stderr: '' });
    expect(await cliWith(['clients', 'list', '--json'], TRUSTED)).toMatchObject({ code: 0, stderr: '' });
    const database = openDatabase({ url: new Secret(urlWith(TRUSTED)), poolSize: 2 });
    expect(await database.query('select count(*)::int as n from clients', [])).toEqual([{ n: 0 }]);
    await database.close();
  }, 60_000);

  it.each<[string, Record<string, string>, string | undefined, RegExp]>([
    ['another CA', { ...TRUSTED, sslrootcert: foreign.certificate }, undefined, /certificate/],
    ['no CA', { sslmode: 'verify-full' }, undefined, /self-signed certificate|unable to verify/],
    ['another name than the certificate', TRUSTED, '127.0.0.1', /does not match certificate/],
  ])(
    'refuses %s in one line',
    async (_what, parameters, host, reason) => {
      const { code, stderr } = await cliWith(['clients', 'list'], parameters, host);
      expect([code, stderr.trim().split('\n')]).toEqual([1, [expect.stringMatching(reason)]]);
      expect(stderr).toContain('Postgres cannot be reached');
    },
    60_000,
  );
});
