import { realpathSync } from 'node:fs';
import { readEnvironment } from '../config.js';
import { lockHolder } from './lock.js';
import { readSecrets } from './secrets.js';
import { masterKeyIdOf, stackEnvironment } from './stack-environment.js';
import { readState } from './stack-state.js';

/**
 * The environment of the embedded stack that runs under LOCAL_DIR, for a command without DATABASE_URL.
 * @throws Error of one line if no stack runs there
 */
export function findStack(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { LOCAL_DIR, MASTER_KEY } = readEnvironment(env);
  const localDir = resolve(LOCAL_DIR);
  const state = localDir && lockHolder(localDir) && readState(localDir);
  const secrets = localDir && readSecrets(localDir);
  if (!state || !secrets) {
    throw new Error(
      `no embedded stack runs under ${LOCAL_DIR}: start one (npm start), or set DATABASE_URL and TEMPORAL_ADDRESS`,
    );
  }
  if (masterKeyIdOf(MASTER_KEY, secrets) !== state.masterKeyId) {
    throw new Error(
      `MASTER_KEY: the service under ${LOCAL_DIR} was started with another key; give the command the same key`,
    );
  }
  return stackEnvironment(env, state, secrets);
}

function resolve(folder: string): string | undefined {
  try {
    return realpathSync(folder);
  } catch {
    return undefined;
  }
}
