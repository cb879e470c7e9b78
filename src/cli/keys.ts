import type { Command } from 'commander';
import { setAction } from './command.js';

/** `keys …`: the keys that sign tokens and encrypt secrets. */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('rotate and revoke the keys that sign tokens and encrypt secrets');

  setAction(
    keys
      .command('rotate')
      .description(
        'create a new token signing key, used by all processes within 15 s; tokens of the old key stay valid',
      ),
    async () => (await import('./actions/keys.js')).rotate,
  );

  setAction(
    keys
      .command('revoke')
      .description('revoke a stolen token signing key: all processes refuse its tokens within 5 s')
      .argument('<kid>', 'as in the header of its tokens and in /.well-known/jwks.json'),
    async () => (await import('./actions/keys.js')).revoke,
  );

  setAction(
    keys
      .command('rotate-master')
      .description('re-encrypt every secret of MASTER_KEY_PREVIOUS with MASTER_KEY; can be repeated safely'),
    async () => (await import('./actions/keys.js')).rotateMaster,
  );
}
