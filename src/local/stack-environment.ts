import { SECRETS } from '../config.js';
import { keyId } from '../database/encryption.js';
import { Secret } from '../secret.js';
import { withSecrets } from '../secret-sources.js';
import { postgresUrl } from './postgres-url.js';
import type { LocalSecrets } from './secrets.js';
import type { StackState } from './stack-state.js';

/** The id of the master key of a process that works on the stack: the given key, or else the stack's own key. */
export function masterKeyIdOf(given: Secret<Uint8Array> | undefined, { masterKey }: LocalSecrets): string {
  return keyId(given ?? new Secret<Uint8Array>(Buffer.from(masterKey.reveal(), 'base64')));
}

/** The environment of a process that works on the stack. `env` is the process's own environment. */
export function stackEnvironment(
  env: NodeJS.ProcessEnv,
  state: StackState,
  { postgresPassword, masterKey }: LocalSecrets,
): NodeJS.ProcessEnv {
  const { env: given } = withSecrets(env, SECRETS);
  return {
    ...given,
    ...state.env,
    DATABASE_URL: postgresUrl(state.ports.postgres, postgresPassword).reveal(),
    // The embedded Postgres has no pooler in front.
    DATABASE_DIRECT_URL: '',
    MASTER_KEY: given.MASTER_KEY || masterKey.reveal(),
  };
}
