import type { Command } from 'commander';
import { personHere } from '../audit/actor.js';
import { revokeSigningKey, rotateMasterKey, rotateSigningKey } from '../auth/keys.js';
import { setAction } from './command.js';
import { masterKeysOf, withDatabase } from './with-database.js';

/** `keys …`: the keys that sign tokens and encrypt secrets. */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('rotate and revoke the keys that sign tokens and encrypt secrets');

  setAction(
    keys
      .command('rotate')
      .description(
        'create a new token signing key, used by all processes within 15 s; tokens of the old key stay valid',
      ),
    async () => {
      const { kid } = await withDatabase((database, environment) =>
        rotateSigningKey(database, personHere(), masterKeysOf(environment)),
      );
      return { json: { kid }, text: `new signing key ${kid}` };
    },
  );

  setAction(
    keys
      .command('revoke')
      .description('revoke a stolen token signing key: all processes refuse its tokens within 5 s')
      .argument('<kid>', 'as in the header of its tokens and in /.well-known/jwks.json'),
    async (kid: string) => {
      const { newKid } = await withDatabase((database, environment) =>
        revokeSigningKey(database, personHere(), masterKeysOf(environment), kid),
      );
      const replaced = newKid === null ? '' : `; the new signing key is ${newKid}`;
      return { json: { kid, new_kid: newKid }, text: `revoked signing key ${kid}${replaced}` };
    },
  );

  setAction(
    keys
      .command('rotate-master')
      .description('re-encrypt every secret of MASTER_KEY_PREVIOUS with MASTER_KEY; can be repeated safely'),
    async () => {
      const rotation = await withDatabase((database, environment) =>
        rotateMasterKey(database, personHere(), masterKeysOf(environment)),
      );
      if (rotation.unreadable.length > 0) {
        throw new Error(`neither MASTER_KEY nor MASTER_KEY_PREVIOUS decrypts: ${rotation.unreadable.join(', ')}`);
      }
      return {
        json: { endpoints: rotation.endpoints, signing_keys: rotation.signingKeys },
        text: `re-encrypted ${rotation.endpoints} endpoint secrets and ${rotation.signingKeys} signing keys`,
      };
    },
  );
}
