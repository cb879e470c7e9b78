import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { readOrMakeSigningKeys, rotateSigningKey } from '../../src/auth/keys.js';
import { EnvelopeError, MasterKeys } from '../../src/database/encryption.js';
import { Secret } from '../../src/secret.js';
import { ADDRESS, LIFETIME, TestClock, testAuthority, verifiedClient } from '../support/authority.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { masterKeys, OPERATOR } from '../support/factories.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase({ poolSize: 10 });
});
afterEach(() => database.drop());

const kidOf = (token: string) => decodeProtectedHeader(token).kid;
const kids = async (authority: ReturnType<typeof testAuthority>) => (await authority.jwks()).keys.map(({ kid }) => kid);

it('the first key is made once, by however many processes at once', async () => {
  const seen = await Promise.all(Array.from({ length: 5 }, () => readOrMakeSigningKeys(database, masterKeys)));
  expect(new Set(seen.flat().map(({ kid }) => kid)).size).toBe(1);
  expect(await database.prisma.signingKey.count()).toBe(1);
});

it('the private key is sealed: neither row nor published key gives it away', async () => {
  await testAuthority(database).prepare();
  const [row] = await database.prisma.signingKey.findMany();
  expect(row?.privateKeyEnvelope).toMatch(/^v1:/);
  expect(Object.keys(row?.publicJwk as object).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  const { keys } = await testAuthority(database).jwks();
  expect(keys).toEqual([row?.publicJwk]);
});

it('a process with another MASTER_KEY says so when it starts', async () => {
  await testAuthority(database).prepare();
  const stranger = testAuthority(database, { masterKeys: new MasterKeys(new Secret<Uint8Array>(randomBytes(32))) });
  await expect(stranger.prepare()).rejects.toThrow(EnvelopeError);
});

describe('rotating the signing key', () => {
  it('is in use everywhere within 15 s, with no moment in which a process refuses what another has signed', async () => {
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

  it('the old key verifies until its last token has expired, and is published no longer', async () => {
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

  it('twice at once leaves one key that is not retired', async () => {
    await readOrMakeSigningKeys(database, masterKeys);
    await Promise.all([
      rotateSigningKey(database, OPERATOR, masterKeys),
      rotateSigningKey(database, OPERATOR, masterKeys),
    ]);
    expect(await database.prisma.signingKey.count()).toBe(3);
    expect(await database.prisma.signingKey.count({ where: { retiredAt: null } })).toBe(1);
  });
});
