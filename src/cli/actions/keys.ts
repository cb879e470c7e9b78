import { rotateMasterKey } from '../../auth/master-key.js';
import { listSigningKeys, revokeSigningKey, rotateSigningKey } from '../../auth/signing-keys.js';
import { personHere } from '../../platform/audit.js';
import type { CommandResult } from '../command.js';
import { report } from '../terminal.js';
import { masterKeysOf, withDatabase } from '../with-database.js';

/** Rows that an error names; with a wrong key, no row can be decrypted. */
const NAMED_ROWS = 3;

/** `keys list` */
export async function list(): Promise<CommandResult> {
  const keys = await withDatabase((database, { ACCESS_TOKEN_LIFETIME: lifetime }) =>
    listSigningKeys(database, lifetime),
  );
  const rows = keys.map(({ kid, state, createdAt, retiredAt, verifiesUntil }) => ({
    kid,
    state,
    created_at: createdAt,
    retired_at: retiredAt,
    verifies_until: verifiesUntil,
  }));
  return { json: rows, text: { rows, none: 'no signing keys yet: the first API process makes one' } };
}

/** `keys rotate` */
export async function rotate(): Promise<CommandResult> {
  const { kid } = await withDatabase((database, environment) =>
    rotateSigningKey(database, personHere(), masterKeysOf(environment)),
  );
  return { json: { kid }, text: `new signing key ${kid}` };
}

/** `keys revoke` */
export async function revoke(kid: string): Promise<CommandResult> {
  const { newKid } = await withDatabase((database, environment) =>
    revokeSigningKey(database, personHere(), masterKeysOf(environment), kid),
  );
  const replaced = newKid === null ? '' : `; the new signing key is ${newKid}`;
  return { json: { kid, new_kid: newKid }, text: `revoked signing key ${kid}${replaced}` };
}

/** `keys rotate-master` */
export async function rotateMaster(): Promise<CommandResult> {
  const rotation = await withDatabase((database, environment) =>
    rotateMasterKey(database, personHere(), masterKeysOf(environment), (sealed) =>
      report(`re-encrypted ${sealed} secrets and keys`),
    ),
  );
  if (rotation.unreadable.length > 0) {
    throw new Error(`neither MASTER_KEY nor MASTER_KEY_PREVIOUS decrypts ${someOf(rotation.unreadable)}`);
  }
  return {
    json: { endpoints: rotation.endpoints, signing_keys: rotation.signingKeys },
    text: `re-encrypted ${rotation.endpoints} endpoint secrets and ${rotation.signingKeys} signing keys`,
  };
}

/** `2 rows: A, B`, or `450 rows: A, B, C and 447 more` */
function someOf(rows: readonly string[]): string {
  const named = rows.slice(0, NAMED_ROWS).join(', ');
  const more = rows.length > NAMED_ROWS ? ` and ${rows.length - NAMED_ROWS} more` : '';
  return `${rows.length} ${rows.length === 1 ? 'row' : 'rows'}: ${named}${more}`;
}
