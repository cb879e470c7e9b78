import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';

/** No secret of the service comes near this size, in bytes. A path to something larger is a mistake. */
const MAX_SIZE = 65_536;
/** A vault answers within seconds. A start that waits longer looks like a start that hangs. In ms. */
const COMMAND_LIMIT = 30_000;

/** Where else the value of a variable may come from, by the suffix of the variable that names the source. */
const SOURCES = { _FILE: readSecret, _COMMAND: runCommand } as const;

/** The variables that name a source of the value of `name`. */
export const sourceVariables = (name: string): string[] => Object.keys(SOURCES).map((suffix) => name + suffix);

/** The environment with the secrets of its sources, and a line for each source that cannot be used. */
export interface WithSecrets {
  env: NodeJS.ProcessEnv;
  lines: string[];
}

/**
 * Reads the value of each variable of `names` from the file that `NAME_FILE` names, as container platforms mount secrets,
 * or from the output of `NAME_COMMAND`, as a vault, a KMS or an HSM gives it to its own program. Line breaks at the end
 * are removed. An empty variable counts as unset. The result has neither `NAME_FILE` nor `NAME_COMMAND`. No line contains
 * a path, a command or its output: an operator who confuses the variables has put the secret itself there.
 */
export function withSecrets(env: NodeJS.ProcessEnv, names: readonly string[]): WithSecrets {
  const result: WithSecrets = { env: { ...env }, lines: [] };
  for (const name of names) {
    const given = [name, ...sourceVariables(name)].filter((variable) => env[variable]);
    for (const [suffix, read] of Object.entries(SOURCES)) {
      const variable = name + suffix;
      const source = env[variable];
      delete result.env[variable];
      if (!source) continue;
      const [first = variable] = given;
      if (first !== variable) {
        result.lines.push(`${variable}: ${first} is given too; give one of them`);
        continue;
      }
      const outcome = read(source);
      if ('fault' in outcome) result.lines.push(`${variable}: ${outcome.fault}`);
      else result.env[name] = outcome.value;
    }
  }
  return result;
}

type Outcome = { value: string } | { fault: string };

function readSecret(path: string): Outcome {
  try {
    const file = statSync(path);
    if (!file.isFile()) return { fault: 'names no regular file; give the path of a file with the value' };
    if (file.size > MAX_SIZE) return { fault: `names a file of more than ${MAX_SIZE} bytes` };
    const value = withoutBreaks(readFileSync(path, 'utf8'));
    return value === '' ? { fault: 'names an empty file; write the value into it' } : { value };
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return { fault: `names a file that cannot be read (${code}); give the path of a readable file` };
  }
}

/** Its standard error is not shown, since a program may print there what it was given. */
function runCommand(command: string): Outcome {
  const { status, signal, error, stdout } = spawnSync(command, {
    shell: true,
    encoding: 'utf8',
    timeout: COMMAND_LIMIT,
    maxBuffer: MAX_SIZE,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'ETIMEDOUT') return { fault: `did not end within ${COMMAND_LIMIT / 1_000} s` };
  if (code === 'ENOBUFS') return { fault: `printed more than ${MAX_SIZE} bytes` };
  if (status !== 0)
    return { fault: `ended with ${signal ?? code ?? `exit code ${status}`}; run it in a shell to see why` };
  const value = withoutBreaks(stdout);
  return value === '' ? { fault: 'printed nothing; it must print the value on standard output' } : { value };
}

const withoutBreaks = (text: string) => text.replace(/[\r\n]+$/, '');
