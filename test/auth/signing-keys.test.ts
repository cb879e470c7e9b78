import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader, exportJWK } from 'jose';
import {
  KeyRing,
  readOrMakeSigningKeys,
  revokeSigningKey,
  rotateSigningKey,
  type StoredKey,
} from '../../src/auth/signing-keys.js';
import { EnvelopeError, MasterKeys } from '../../src/platform/database/encryption.js';
import { Secret } from '../../src/platform/secret.js';
import { ADDRESS, LIFETIME, TestClock, testAuthority, verifiedClient } from '../support/authority.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { masterKeys, OPERATOR } from '../support/factories.js';
import { waitFor } from '../support/wait-for.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase({ poolSize: 10 });
});
afterEach(() => database.drop());

const kidOf = (token: string) => decodeProtectedHeader(token).kid;
const kids = async (authority: ReturnType<typeof testAuthority>) => (await authority.jwks()).keys.map(({ kid }) => kid);

it('makes the first key once, even if several processes start at once', async () => {
  // A process reads again when a busy machine was too slow for it.
  const read = () => readOrMakeSigningKeys(database, masterKeys).catch(() => undefined);
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

it('fails at the start of a process that has another MASTER_KEY', async () => {
  await testAuthority(database).prepare();
  const stranger = testAuthority(database, { masterKeys: new MasterKeys(new Secret<Uint8Array>(randomBytes(32))) });
  await expect(stranger.prepare()).rejects.toThrow(EnvelopeError);
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
    await readOrMakeSigningKeys(database, masterKeys);
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
    const [first] = await readOrMakeSigningKeys(database, masterKeys);
    const { kid: newest } = await rotateSigningKey(database, OPERATOR, masterKeys);
    expect(await revokeSigningKey(database, OPERATOR, masterKeys, first?.kid as string)).toEqual({ newKid: null });
    expect(await database.prisma.signingKey.findMany({ select: { kid: true } })).toEqual([{ kid: newest }]);
  });

  it('rejects an unknown key and changes nothing', async () => {
    await readOrMakeSigningKeys(database, masterKeys);
    await expect(revokeSigningKey(database, OPERATOR, masterKeys, 'unknown')).rejects.toMatchObject({
      code: 'not_found',
    });
    expect([await database.prisma.signingKey.count(), await database.prisma.auditEntry.count()]).toEqual([1, 0]);
  });
});

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const publicJwk = await exportJWK(pair.publicKey);
const pem = new Secret(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
const stored = (kid: string, age: number, retiredFor: number | null = null): StoredKey => ({
  kid,
  publicJwk: { ...publicJwk, kid },
  privateKeyEnvelope: masterKeys.seal(pem, kid),
  age,
  retiredFor,
});

function ringOn(...keys: StoredKey[]) {
  const clock = new TestClock();
  const store = { keys, reads: 0, broken: false, faults: 0, slow: Promise.resolve() };
  const ring = new KeyRing({
    read: async () => {
      store.reads++;
      await store.slow;
      if (store.broken) throw new Error('broken');
      return store.keys;
    },
    masterKeys,
    lifetime: LIFETIME,
    clock,
    onFault: () => store.faults++,
  });
  return { ring, clock, store };
}

const signer = async (ring: KeyRing) => (await ring.signingKey()).kid;

it.each([
  ['the only key, also if it is new', [stored('a', 0)], 'a'],
  ['not a key that other processes may not have read', [stored('b', 7_999), stored('a', 1e6, 7_999)], 'a'],
  [
    'the newest key that every process has read',
    [stored('c', 100), stored('b', 8_000, 100), stored('a', 1e6, 8_000)],
    'b',
  ],
  ['the oldest key if all keys are new', [stored('b', 100), stored('a', 200, 100)], 'a'],
])('signs with %s', async (_, keys, kid) => {
  expect(await signer(ringOn(...keys).ring)).toBe(kid);
});

it('shares one read among concurrent calls, and uses the result for 4 s', async () => {
  const { ring, clock, store } = ringOn(stored('a', 0));
  await Promise.all(Array.from({ length: 20 }, () => signer(ring)));
  clock.pass(3_999);
  await signer(ring);
  expect(store.reads).toBe(1);
  clock.pass(1);
  await signer(ring);
  expect(store.reads).toBe(2);
});

it('looks up an unknown kid at once, but reads at most once per second for unknown kids', async () => {
  const { ring, clock, store } = ringOn(stored('a', 0));
  await signer(ring);
  store.keys = [stored('b', 0), ...store.keys];
  clock.pass(1_000);
  expect(await ring.verificationKey('b')).toBeDefined();
  for (let i = 0; i < 50; i++) expect(await ring.verificationKey(`made-up-${i}`)).toBeUndefined();
  expect(store.reads).toBe(2);
});

it('verifies for 5 s with a key that cannot be read again, since it may be revoked', async () => {
  const { ring, clock, store } = ringOn(stored('a', 0));
  await signer(ring);
  store.broken = true;
  clock.pass(4_999);
  expect(await ring.verificationKey('a')).toBeDefined();
  clock.pass(1);
  await expect(ring.verificationKey('a')).rejects.toThrow('too long ago');
  store.broken = false;
  clock.pass(1_000);
  expect(await ring.verificationKey('a')).toBeDefined();
});

it('verifies with cached keys while it reads them again after 2 s, and waits for the read after 4 s', async () => {
  const { ring, clock, store } = ringOn(stored('a', 0));
  await signer(ring);
  clock.pass(1_999);
  await ring.verificationKey('a');
  expect(store.reads).toBe(1);
  let finish = () => {};
  store.slow = new Promise((resolve) => {
    finish = resolve;
  });
  for (const pass of [1, 1_999]) {
    clock.pass(pass);
    expect(await ring.verificationKey('a')).toBeDefined();
  }
  expect(store.reads).toBe(2);
  clock.pass(1);
  const waiting = ring.verificationKey('a');
  finish();
  expect(await waiting).toBeDefined();
  expect(store.reads).toBe(2);
});

it('keeps signing with the known keys while the store fails, and reads again once per second', async () => {
  const { ring, clock, store } = ringOn(stored('a', 0));
  await signer(ring);
  store.broken = true;
  clock.pass(60_000);
  for (let i = 0; i < 10; i++) expect(await signer(ring)).toBe('a');
  expect([store.reads, store.faults]).toEqual([2, 1]);
  clock.pass(1_000);
  store.broken = false;
  expect(await signer(ring)).toBe('a');
  expect(store.reads).toBe(3);
});

it('throws if the store fails and no key is known', async () => {
  const { ring, store } = ringOn(stored('a', 0));
  store.broken = true;
  await expect(ring.signingKey()).rejects.toThrow('broken');
});
