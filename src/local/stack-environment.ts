import { postgresUrl } from './postgres-url.js';
import type { LocalSecrets } from './secrets.js';
import type { StackState } from './stack-state.js';

/** The environment of a process that works on the stack: `env` is what the process itself was given. */
export function stackEnvironment(
  env: NodeJS.ProcessEnv,
  state: StackState,
  { postgresPassword, masterKey }: LocalSecrets,
): NodeJS.ProcessEnv {
  return {
    ...env,
    ...state.env,
    DATABASE_URL: postgresUrl(state.ports.postgres, postgresPassword).reveal(),
    MASTER_KEY: env.MASTER_KEY || masterKey.reveal(),
  };
}
