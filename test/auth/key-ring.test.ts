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

it('verifies with the keys at hand while they are read again, from 2 s on, and waits for the read from 4 s on', async () => {
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

it('goes on signing with the known keys while the store fails, and reads again once per second', async () => {
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
