import { rotateMasterKey } from '../../auth/master-key.js';
import { listSigningKeys, revokeSigningKey, rotateSigningKey } from '../../auth/signing-keys.js';
import type { Command } from '../command.js';
import { masterKeysOf, onDatabase } from '../with-database.js';

/** `keys …`: the keys that sign tokens and encrypt secrets. */
export function declare(keys: Command): void {
  keys
    .command('list')
    .description('list the token signing keys, newest first: ids, states and times, never key material')
    .does(list, ['kid', 'state', 'created_at', 'retired_at', 'verifies_until']);

  keys
    .command('rotate')
    .description('create a new token signing key, used by all processes within 15 s; tokens of the old key stay valid')
    .does(rotate);

  keys
    .command('revoke')
    .description('revoke a stolen token signing key: all processes reject its tokens within 5 s')
    .argument('<kid>', 'as in the header of its tokens and in /.well-known/jwks.json')
    .does(revoke);

  keys
    .command('rotate-master')
    .description('re-encrypt every secret from MASTER_KEY_PREVIOUS to MASTER_KEY; safe to run again')
    .does(rotateMaster);
}

const list = onDatabase(async ({ database, environment }) => {
  const keys = await listSigningKeys(database, environment.ACCESS_TOKEN_LIFETIME);
  const json = keys.map(({ kid, state, createdAt, retiredAt, verifiesUntil }) => ({
    kid,
    state,
    created_at: createdAt,
    retired_at: retiredAt,
    verifies_until: verifiesUntil,
  }));
  return { json };
});

const rotate = onDatabase(async ({ database, environment, actor }) => {
  const { kid } = await rotateSigningKey(database, actor, masterKeysOf(environment));
  return { json: { kid } };
});

const revoke = onDatabase(async ({ database, environment, actor }, kid: string) => {
  const { newKid } = await revokeSigningKey(database, actor, masterKeysOf(environment), kid);
  return { json: { kid, new_kid: newKid } };
});

/** Rows that an error names; with a wrong key, no row can be decrypted. */
const NAMED_ROWS = 3;

const rotateMaster = onDatabase(async ({ database, environment, actor }) => {
  const { endpoints, clients, signingKeys, unreadable } = await rotateMasterKey(
    database,
    actor,
    masterKeysOf(environment),
  );
  if (unreadable.length > 0) {
    const first = unreadable.slice(0, NAMED_ROWS).join(', ');
    throw new Error(
      `neither MASTER_KEY nor MASTER_KEY_PREVIOUS decrypts ${unreadable.length} rows, of which the first are: ${first}`,
    );
  }
  return { json: { endpoints, clients, signing_keys: signingKeys } };
});
