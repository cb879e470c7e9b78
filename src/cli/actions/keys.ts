import { rotateMasterKey } from '../../auth/master-key.js';
import { listSigningKeys, revokeSigningKey, rotateSigningKey } from '../../auth/signing-keys.js';
import { report } from '../terminal.js';
import { masterKeysOf, onDatabase } from '../with-database.js';

/** Rows that an error names; with a wrong key, no row can be decrypted. */
const NAMED_ROWS = 3;

/** `keys list` */
export const list = onDatabase(async ({ database, environment }) => {
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

/** `keys rotate` */
export const rotate = onDatabase(async ({ database, environment, actor }) => {
  const { kid } = await rotateSigningKey(database, actor, masterKeysOf(environment));
  return { json: { kid }, text: `new signing key ${kid}` };
});

/** `keys revoke` */
export const revoke = onDatabase(async ({ database, environment, actor }, kid: string) => {
  const { newKid } = await revokeSigningKey(database, actor, masterKeysOf(environment), kid);
  const replaced = newKid === null ? '' : `; the new signing key is ${newKid}`;
  return { json: { kid, new_kid: newKid }, text: `revoked signing key ${kid}${replaced}` };
});

/** `keys rotate-master` */
export const rotateMaster = onDatabase(async ({ database, environment, actor }) => {
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
