import { readFileSync, statSync } from 'node:fs';

/** No secret of the service comes near this size, in bytes. A path to something larger is a mistake. */
const MAX_SIZE = 65_536;

/** The variable that names the file with the value of `name`. */
export const fileVariable = (name: string): string => `${name}_FILE`;

/** The environment with the secrets of its files, and a line for each file that cannot be used. */
export interface WithSecretFiles {
  env: NodeJS.ProcessEnv;
  lines: string[];
}

/**
 * Reads the value of each variable of `names` from the file that `NAME_FILE` names, as container platforms mount
 * secrets. Line breaks at the file's end are removed. An empty variable counts as unset. The result has no `NAME_FILE`.
 * No line contains a path: an operator who confuses the two variables has put the secret itself there.
 */
export function withSecretFiles(env: NodeJS.ProcessEnv, names: readonly string[]): WithSecretFiles {
  const result: WithSecretFiles = { env: { ...env }, lines: [] };
  for (const name of names) {
    const variable = fileVariable(name);
    const path = env[variable];
    delete result.env[variable];
    if (!path) continue;
    if (env[name]) {
      result.lines.push(`${variable}: ${name} is given too; give one of them`);
      continue;
    }
    const read = readSecret(path);
    if ('fault' in read) result.lines.push(`${variable}: ${read.fault}`);
    else result.env[name] = read.value;
  }
  return result;
}

function readSecret(path: string): { value: string } | { fault: string } {
  try {
    const file = statSync(path);
    if (!file.isFile()) return { fault: 'names no regular file; give the path of a file with the value' };
    if (file.size > MAX_SIZE) return { fault: `names a file of more than ${MAX_SIZE} bytes` };
    const value = readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
    return value === '' ? { fault: 'names an empty file; write the value into it' } : { value };
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return { fault: `names a file that cannot be read (${code}); give the path of a readable file` };
  }
}
