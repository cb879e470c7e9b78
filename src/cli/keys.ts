import type { Command } from './command.js';

/** `keys …`: the keys that sign tokens and encrypt secrets. */
export function addKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('list, rotate and revoke the keys that sign tokens and encrypt secrets');

  keys
    .command('list')
    .description('list the token signing keys, newest first: ids, states and times, never key material')
    .does(async () => (await import('./actions/keys.js')).list);

  keys
    .command('rotate')
    .description('create a new token signing key, used by all processes within 15 s; tokens of the old key stay valid')
    .does(async () => (await import('./actions/keys.js')).rotate);

  keys
    .command('revoke')
    .description('revoke a stolen token signing key: all processes reject its tokens within 5 s')
    .argument('<kid>', 'as in the header of its tokens and in /.well-known/jwks.json')
    .does(async () => (await import('./actions/keys.js')).revoke);

  keys
    .command('rotate-master')
    .description('re-encrypt every secret from MASTER_KEY_PREVIOUS to MASTER_KEY; safe to run again')
    .does(async () => (await import('./actions/keys.js')).rotateMaster);
}
