import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { exportJWK } from 'jose';
import { KeyRing } from '../../src/auth/key-ring.js';
import type { StoredKey } from '../../src/auth/keys.js';
import { Secret } from '../../src/secret.js';
import { LIFETIME, TestClock } from '../support/authority.js';
import { masterKeys } from '../support/factories.js';

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
  const store = { keys, reads: 0, broken: false, faults: 0 };
  const ring = new KeyRing({
    read: async () => {
      store.reads++;
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
  ['the only one, however young', [stored('a', 0)], 'a'],
  ['not one that others may not have read yet', [stored('b', 7_999), stored('a', 1e6, 7_999)], 'a'],
  ['the newest that everybody has read', [stored('c', 100), stored('b', 8_000, 100), stored('a', 1e6, 8_000)], 'b'],
  ['the oldest, where all are young', [stored('b', 100), stored('a', 200, 100)], 'a'],
])('the key that signs is %s', async (_, keys, kid) => {
  expect(await signer(ringOn(...keys).ring)).toBe(kid);
});

it('many at once share one read, and what was read counts for 4 s', async () => {
  const { ring, clock, store } = ringOn(stored('a', 0));
  await Promise.all(Array.from({ length: 20 }, () => signer(ring)));
  clock.pass(3_999);
  await signer(ring);
  expect(store.reads).toBe(1);
  clock.pass(1);
  await signer(ring);
  expect(store.reads).toBe(2);
});

it('a kid that nobody knows is looked for at once, but made-up ones cost one read a second', async () => {
  const { ring, clock, store } = ringOn(stored('a', 0));
  await signer(ring);
  store.keys = [stored('b', 0), ...store.keys];
  clock.pass(1_000);
  expect(await ring.verificationKey('b')).toBeDefined();
  for (let i = 0; i < 50; i++) expect(await ring.verificationKey(`made-up-${i}`)).toBeUndefined();
  expect(store.reads).toBe(2);
});

it('a key that could not be read again verifies for 5 s, since it may have been revoked', async () => {
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

it('a store that fails leaves the known keys in use for signing, and is asked again once a second', async () => {
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

it('with no key known a store that fails is a failure', async () => {
  const { ring, store } = ringOn(stored('a', 0));
  store.broken = true;
  await expect(ring.signingKey()).rejects.toThrow('broken');
});
