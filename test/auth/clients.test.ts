import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import {
  changeClient,
  createClient,
  listClients,
  revokeClient,
  revokeSecret,
  rotateSecret,
  showClient,
} from '../../src/auth/clients.js';
import { newId } from '../../src/platform/ids.js';
import { openTestDatabase } from '../support/database.js';
import { OPERATOR } from '../support/factories.js';

const database = await openTestDatabase({ poolSize: 12 });

const make = () => createClient(database, OPERATOR, { name: 'Acme' });
const active = async (clientId: string) => {
  const { secrets } = await showClient(database, clientId);
  return secrets.filter(({ revokedAt, expiresAt }) => !revokedAt && !expiresAt).map(({ id }) => id);
};

it('shows no secret and no hash in any view of a client', async () => {
  const { client, clientSecret } = await make();
  const views = inspect([await listClients(database), await showClient(database, client.id), client], { depth: 9 });
  expect(views).toContain(client.id);
  expect(views).not.toContain(clientSecret.reveal());
  expect(views).not.toContain('hash');
});

it('revokes a client permanently, and returns the same result for a second call', async () => {
  const { client } = await make();
  const revoked = await revokeClient(database, OPERATOR, client.id);
  expect(revoked.revokedAt).toBeInstanceOf(Date);
  expect(await revokeClient(database, OPERATOR, client.id)).toEqual(revoked);
  await expect(rotateSecret(database, OPERATOR, client.id)).rejects.toMatchObject({ code: 'invalid_request' });
});

it.each(['no-uuid', newId(), "'; drop table clients; --", '\0'])(
  'rejects the unknown client %j in every function',
  async (id) => {
    const verbs = [
      () => showClient(database, id),
      () => revokeClient(database, OPERATOR, id),
      () => changeClient(database, OPERATOR, id, { networks: [] }),
      () => rotateSecret(database, OPERATOR, id),
      () => revokeSecret(database, OPERATOR, id, newId()),
    ];
    for (const verb of verbs) await expect(verb()).rejects.toMatchObject({ code: 'not_found' });
  },
);

describe('rotating a secret', () => {
  it.each([undefined, 0])(
    'a second rotation cut a live client off without a word (--expire-old: %p)',
    async (expireOldIn) => {
      const { client, secretId: first } = await make();
      const { secretId: second } = await rotateSecret(database, OPERATOR, client.id, { expireOldIn: 60_000 });
      const before = await showClient(database, client.id);
      await expect(rotateSecret(database, OPERATOR, client.id, { expireOldIn })).rejects.toMatchObject({
        code: 'two_secrets',
        message: expect.stringMatching(
          new RegExp(`two active secrets, the older first: ${first} and ${second}.*--revoke`),
        ),
      });
      expect(await showClient(database, client.id)).toEqual(before);
    },
  );

  it('revokes the secret named by `revoke`, which must be active', async () => {
    const { client, secretId: first } = await make();
    const { secretId: second } = await rotateSecret(database, OPERATOR, client.id);
    const { secretId: third, revoked } = await rotateSecret(database, OPERATOR, client.id, { revoke: second });
    expect(revoked).toEqual([second]);
    expect(await active(client.id)).toEqual([first, third]);
    const again = rotateSecret(database, OPERATOR, client.id, { revoke: second });
    await expect(again).rejects.toMatchObject({ code: 'two_secrets' });
    const { secretId: other } = await make();
    for (const revoke of [other, newId(), 'no-uuid']) {
      const unknown = rotateSecret(database, OPERATOR, client.id, { revoke });
      await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await active(client.id)).toEqual([first, third]);
  });

  it('makes the previous secrets expire, never later than before', async () => {
    const { client, secretId: first } = await make();
    const endOf = async (id: string) =>
      (await showClient(database, client.id)).secrets.find((secret) => secret.id === id)?.expiresAt?.getTime();
    const before = Date.now();
    const { secretId: second } = await rotateSecret(database, OPERATOR, client.id, { expireOldIn: 60_000 });
    const end = (await endOf(first)) ?? 0;
    expect(Math.abs(end - before - 60_000)).toBeLessThan(30_000);
    await rotateSecret(database, OPERATOR, client.id, { expireOldIn: 86_400_000, revoke: second });
    expect(await endOf(first)).toBe(end);
  });

  it('lets one of ten concurrent rotations add a second secret', async () => {
    const { client, secretId: first } = await make();
    const rotations = Array.from({ length: 10 }, () => rotateSecret(database, OPERATOR, client.id));
    const results = await Promise.allSettled(rotations);
    const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.secretId] : []));
    expect(made).toHaveLength(1);
    expect(await active(client.id)).toEqual([first, ...made]);
  });
});

it('revokes one secret only, and only for its own client', async () => {
  const { client, secretId: first } = await make();
  const { secretId: second } = await rotateSecret(database, OPERATOR, client.id);
  const { client: other } = await make();
  await expect(revokeSecret(database, OPERATOR, other.id, first)).rejects.toMatchObject({ code: 'not_found' });
  await revokeSecret(database, OPERATOR, client.id, first);
  await revokeSecret(database, OPERATOR, client.id, first);
  expect(await active(client.id)).toEqual([second]);
});
