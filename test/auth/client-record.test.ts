import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { type ClientRecord, checkCredentials } from '../../src/auth/client-record.js';
import { makeRandomSecret } from '../../src/auth/clients.js';
import { newId } from '../../src/platform/ids.js';
import { Networks } from '../../src/platform/networks.js';
import { Secret } from '../../src/platform/secret.js';

const createHash = jest.spyOn(crypto, 'createHash');
const timingSafeEqual = jest.spyOn(crypto, 'timingSafeEqual');
syncBuiltinESMExports();
afterAll(() => {
  jest.restoreAllMocks();
  syncBuiltinESMExports();
});

const now = Date.now();
const make = () => {
  const { secret, hash } = makeRandomSecret();
  return { secretId: newId(), clientSecret: secret, hash: hash.toString('hex') };
};
const [older, newer] = [make(), make()];
const record = (fields: Partial<ClientRecord> = {}): ClientRecord => ({
  id: newId(),
  revoked: false,
  scopes: [],
  networks: new Networks([]),
  rateLimit: null,
  requirePrivateKey: false,
  keys: [],
  secrets: [newer, older].map(({ secretId, hash }) => ({ id: secretId, hash, revoked: false, expiresAt: null })),
  ...fields,
});
const ended = (fields: { revoked?: boolean; expiresAt?: number }) =>
  record({ secrets: [{ id: newer.secretId, hash: newer.hash, revoked: false, expiresAt: null, ...fields }] });

const refused: [string, ClientRecord | undefined, string, Secret][] = [
  ['an unknown client', undefined, newId(), newer.clientSecret],
  ['a client_id that is not a UUID', undefined, 'x', newer.clientSecret],
  ['a client_id with NUL', undefined, '\0', newer.clientSecret],
  ['a wrong secret', record(), newId(), new Secret('wrong')],
  ['an empty secret', record(), newId(), new Secret('')],
  ['a secret of 60,000 characters', record(), newId(), new Secret('x'.repeat(60_000))],
  ['a revoked client', record({ revoked: true }), newId(), newer.clientSecret],
  ['a client with no secret', record({ secrets: [] }), newId(), newer.clientSecret],
  ['a revoked secret', ended({ revoked: true }), newId(), newer.clientSecret],
  ['an expired secret', ended({ expiresAt: now }), newId(), newer.clientSecret],
];

describe.each(refused)('%s', (_, client, clientId, secret) => {
  it('is rejected with the same work as any other: one read by UUID, one hash, two comparisons', async () => {
    const read = jest.fn(async (_id: string) => client);
    createHash.mockClear();
    timingSafeEqual.mockClear();
    expect(await checkCredentials(read, clientId, secret, now)).toBeUndefined();
    expect(read).toHaveBeenCalledTimes(1);
    expect(read.mock.calls[0]?.[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(createHash).toHaveBeenCalledTimes(1);
    expect(timingSafeEqual).toHaveBeenCalledTimes(2);
  });
});
