import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader, exportJWK } from 'jose';
import {
  KeyRing,
  readOrMakeSigningKeys,
  revokeSigningKey,
  rotateSigningKey,
  type StoredKey,
} from '../../src/auth/signing-keys.js';
import { Secret } from '../../src/platform/secret.js';
import { ADDRESS, LIFETIME, TestClock, testAuthority, verifiedClient } from '../support/authority.js';
import { openEmptyDatabase } from '../support/database.js';
import { masterKeys, OPERATOR } from '../support/factories.js';
import { waitFor } from '../support/wait-for.js';

const database = await openEmptyDatabase({ poolSize: 10 });

const kidOf = (token: string) => decodeProtectedHeader(token).kid;
const kids = async (authority: ReturnType<typeof testAuthority>) => (await authority.jwks()).keys.map(({ kid }) => kid);

it('makes the first key once, even if several processes start at once', async () => {
  // A process reads again when a busy machine was too slow for it.
  const read = () => readOrMakeSigningKeys(database, masterKeys, LIFETIME).catch(() => undefined);
  const seen = await Promise.all(Array.from({ length: 5 }, () => waitFor('the keys', read)));
  expect(new Set(seen.flat().map(({ kid }) => kid)).size).toBe(1);
  expect(await database.prisma.signingKey.count()).toBe(1);
});

it('seals the private key: neither the row nor the published key reveals it', async () => {
  await testAuthority(database).prepare();
  const [row] = await database.prisma.signingKey.findMany();
  expect(row?.privateKeyEnvelope).toMatch(/^v1:/);
  expect(Object.keys(row?.publicJwk as object).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  const { keys } = await testAuthority(database).jwks();
  expect(keys).toEqual([row?.publicJwk]);
});

describe('rotating the signing key', () => {
  it('makes every process sign with the new key within 15 s, and no process ever rejects a token of another', async () => {
    const clock = new TestClock();
    const processes = [testAuthority(database, { clock }), testAuthority(database, { clock })];
    const [one] = processes as [ReturnType<typeof testAuthority>];
    const client = await verifiedClient(one, database);
    const letASecondPass = async () => {
      clock.pass(1_000);
      const [created, retired] = ['created_at', 'retired_at'].map((at) => `${at} = ${at} - interval '1 second'`);
      await database.query(`update signing_keys set ${created}, ${retired}`, []);
    };
    const before = kidOf((await one.issue(client)).accessToken);
    for (const each of processes) await each.prepare();
    const { kid } = await rotateSigningKey(database, OPERATOR, masterKeys);
    for (let second = 0; second <= 15; second++) {
      const tokens = await Promise.all(processes.map((each) => each.issue(client)));
      for (const each of processes) {
        for (const { accessToken } of tokens) {
          expect(await kids(each)).toContain(kidOf(accessToken));
          await expect(each.authenticate(accessToken, ADDRESS)).resolves.toMatchObject({ clientId: client.clientId });
        }
      }
      if (second === 0) expect(tokens.map(({ accessToken }) => kidOf(accessToken))).toEqual([before, before]);
      if (second === 15) expect(tokens.map(({ accessToken }) => kidOf(accessToken))).toEqual([kid, kid]);
      await letASecondPass();
    }
  });

  it('keeps the old key verifying and published until its last token has expired', async () => {
    const clock = new TestClock();
    const authority = testAuthority(database, { clock });
    const client = await verifiedClient(authority, database);
    const { accessToken } = await authority.issue(client);
    const old = kidOf(accessToken);
    const { kid } = await rotateSigningKey(database, OPERATOR, masterKeys);
    clock.pass(LIFETIME - 1_000);
    expect(await kids(authority)).toEqual([kid, old]);
    await expect(authority.authenticate(accessToken, ADDRESS)).resolves.toBeDefined();
    await database.query(`update signing_keys set retired_at = now() - interval '2 hours' where kid = $1`, [old]);
    clock.pass(10_000);
    expect(await kids(authority)).toEqual([kid]);
  });

  it('leaves one active key after two concurrent rotations', async () => {
    await readOrMakeSigningKeys(database, masterKeys, LIFETIME);
    await Promise.all([
      rotateSigningKey(database, OPERATOR, masterKeys),
      rotateSigningKey(database, OPERATOR, masterKeys),
    ]);
    expect(await database.prisma.signingKey.count()).toBe(3);
    expect(await database.prisma.signingKey.count({ where: { retiredAt: null } })).toBe(1);
  });
});

describe('revoking a signing key', () => {
  it('rejects its tokens, cached ones included, in every process within 5 s, and adds a new key', async () => {
    const clock = new TestClock();
    const processes = [testAuthority(database, { clock }), testAuthority(database, { clock })];
    const [one] = processes as [ReturnType<typeof testAuthority>];
    const client = await verifiedClient(one, database);
    const { accessToken } = await one.issue(client);
    for (const each of processes) await each.authenticate(accessToken, ADDRESS);
    const stolen = kidOf(accessToken) as string;
    const { newKid } = await revokeSigningKey(database, OPERATOR, masterKeys, stolen);
    clock.pass(4_999);
    for (const each of processes) {
      await expect(each.authenticate(accessToken, ADDRESS)).rejects.toMatchObject({ code: 'invalid_token' });
      expect(await kids(each)).toEqual([newKid]);
      const fresh = await each.issue(client);
      expect(kidOf(fresh.accessToken)).toBe(newKid);
      await expect(one.authenticate(fresh.accessToken, ADDRESS)).resolves.toBeDefined();
    }
    expect(await database.prisma.signingKey.findMany({ select: { kid: true, retiredAt: true } })).toEqual([
      { kid: newKid, retiredAt: null },
    ]);
  });

  it('does not change the newest key if an older key is revoked', async () => {
    const [first] = await readOrMakeSigningKeys(database, masterKeys, LIFETIME);
    const { kid: newest } = await rotateSigningKey(database, OPERATOR, masterKeys);
    expect(await revokeSigningKey(database, OPERATOR, masterKeys, first?.kid as string)).toEqual({ newKid: null });
    expect(await database.prisma.signingKey.findMany({ select: { kid: true } })).toEqual([{ kid: newest }]);
  });
});

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const publicJwk = await exportJWK(pair.publicKey);
const pem = new Secret(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
const stored = (kid: string, isKnown = true): StoredKey => ({
  kid,
  publicJwk: { ...publicJwk, kid },
  privateKeyEnvelope: masterKeys.seal(pem, kid),
  isKnown,
});

function ringOn(...keys: StoredKey[]) {
  const clock = new TestClock();
  const store = { keys, reads: 0 };
  const read = async () => {
    store.reads++;
    return store.keys;
  };
  return { ring: new KeyRing(read, masterKeys, clock), clock, store };
}

it.each([
  ['the only key, also if it is new', [stored('a', false)], 'a'],
  ['not a key that other processes may not have read', [stored('b', false), stored('a')], 'a'],
  ['the newest key that every process has read', [stored('c', false), stored('b'), stored('a')], 'b'],
  ['the oldest key if all keys are new', [stored('b', false), stored('a', false)], 'a'],
])('signs with %s', async (_, keys, kid) => {
  expect((await ringOn(...keys).ring.signingKey()).kid).toBe(kid);
});

it('counts a key as known to every process 8 s after it was made', async () => {
  await readOrMakeSigningKeys(database, masterKeys, LIFETIME);
  const known = async (age: number) => {
    await database.query(`update signing_keys set created_at = now() - $1::int * interval '1 millisecond'`, [age]);
    const [key] = await readOrMakeSigningKeys(database, masterKeys, LIFETIME);
    return key?.isKnown;
  };
  // The column rounds to milliseconds, so that a key of 8,000 ms may be half a millisecond younger.
  expect([await known(4_000), await known(8_001)]).toEqual([false, true]);
});

it('looks up an unknown kid at once, but reads at most once per second for unknown kids', async () => {
  const { ring, clock, store } = ringOn(stored('a', false));
  await ring.signingKey();
  store.keys = [stored('b', false), ...store.keys];
  clock.pass(1_000);
  expect(await ring.verificationKey('b')).toBeDefined();
  for (let i = 0; i < 50; i++) expect(await ring.verificationKey(`made-up-${i}`)).toBeUndefined();
  expect(store.reads).toBe(2);
});
