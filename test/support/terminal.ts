import { execFileSync } from 'node:child_process';

/** On other systems `script` is another program. */
export const onLinux = process.platform === 'linux' ? test : test.skip;

/** The standard output of the built command on a terminal with `columns` columns (a pty, by util-linux's `script`). */
export function showOnTerminal(args: readonly string[], env: Record<string, string>, columns: number): string {
  const printed = inTerminal('-qec', `stty cols ${columns}; ${commandOf(args)} 2>/dev/null`, env);
  // A terminal ends its lines with CR LF.
  return printed.replaceAll('\r\n', '\n');
}

/** All that the built command prints on a terminal on which a person types `input`. */
export function answerOnTerminal(args: readonly string[], env: Record<string, string>, input: string): string {
  return inTerminal('-qc', commandOf(args), env, input);
}

const commandOf = (args: readonly string[]) =>
  [process.execPath, 'dist/src/cli.js', ...args].map((word) => `'${word}'`).join(' ');

function inTerminal(options: string, command: string, env: Record<string, string>, input?: string): string {
  const { PATH, HOME } = process.env;
  return execFileSync('script', [options, command, '/dev/null'], {
    env: { PATH, HOME, ...env },
    encoding: 'utf8',
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'inherit'],
    ...(input !== undefined && { input }),
    timeout: 60_000,
  });
}
