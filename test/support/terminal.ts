import { execFileSync } from 'node:child_process';

/** On other systems `script` is another program. */
export const onLinux = process.platform === 'linux' ? test : test.skip;

/** The output of the built command on a terminal with `columns` columns (a pty, by util-linux's `script`). */
export function showOnTerminal(args: readonly string[], env: Record<string, string>, columns: number): string {
  const { PATH, HOME } = process.env;
  const words = [process.execPath, 'dist/src/cli.js', ...args].map((word) => `'${word}'`).join(' ');
  const printed = execFileSync('script', ['-qec', `stty cols ${columns}; ${words}`, '/dev/null'], {
    env: { PATH, HOME, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
  // A terminal ends its lines with CR LF.
  return printed.replaceAll('\r\n', '\n');
}
