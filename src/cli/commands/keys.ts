import { rotateMasterKey } from '../../auth/master-key.js';
import { listSigningKeys, revokeSigningKey, rotateSigningKey } from '../../auth/signing-keys.js';
import type { Command } from '../command.js';
import { report } from '../terminal.js';
import { masterKeysOf, onDatabase } from '../with-database.js';

/** `keys …`: the keys that sign tokens and encrypt secrets. */
export function declare(keys: Command): void {
  keys
    .command('list')
    .description('list the token signing keys, newest first: ids, states and times, never key material')
    .does(list);

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

/** Rows that an error names; with a wrong key, no row can be decrypted. */
const NAMED_ROWS = 3;

const list = onDatabase(async ({ database, environment }) => {
  const keys = await listSigningKeys(database, environment.ACCESS_TOKEN_LIFETIME);
  const rows = keys.map(({ kid, state, createdAt, retiredAt, verifiesUntil }) => ({
    kid,
    state,
    created_at: createdAt,
    retired_at: retiredAt,
    verifies_until: verifiesUntil,
  }));
  return { json: rows, text: { rows, none: 'no signing keys yet: the first API process makes one' } };
});

const rotate = onDatabase(async ({ database, environment, actor }) => {
  const { kid } = await rotateSigningKey(database, actor, masterKeysOf(environment));
  return { json: { kid }, text: `new signing key ${kid}` };
});

const revoke = onDatabase(async ({ database, environment, actor }, kid: string) => {
  const { newKid } = await revokeSigningKey(database, actor, masterKeysOf(environment), kid);
  const replaced = newKid === null ? '' : `; the new signing key is ${newKid}`;
  return { json: { kid, new_kid: newKid }, text: `revoked signing key ${kid}${replaced}` };
});

const rotateMaster = onDatabase(async ({ database, environment, actor }) => {
  const rotation = await rotateMasterKey(database, actor, masterKeysOf(environment), (sealed) =>
    report(`re-encrypted ${sealed} secrets and keys`),
  );
  if (rotation.unreadable.length > 0) {
    throw new Error(`neither MASTER_KEY nor MASTER_KEY_PREVIOUS decrypts ${someOf(rotation.unreadable)}`);
  }
  return {
    json: { endpoints: rotation.endpoints, signing_keys: rotation.signingKeys },
    text: `re-encrypted ${rotation.endpoints} endpoint secrets and ${rotation.signingKeys} signing keys`,
  };
});

/** `2 rows: A, B`, or `450 rows: A, B, C and 447 more` */
function someOf(rows: readonly string[]): string {
  const named = rows.slice(0, NAMED_ROWS).join(', ');
  const more = rows.length > NAMED_ROWS ? ` and ${rows.length - NAMED_ROWS} more` : '';
  return `${rows.length} ${rows.length === 1 ? 'row' : 'rows'}: ${named}${more}`;
}
