import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of the tools that have a lockfile of their own, because the service and its build do not need them. */
export const TOOLING = fileURLToPath(new URL('../../clients/tooling/', import.meta.url));

/** Installs the tools unless they are as the lockfile says. */
export function installTooling() {
  // npm writes this file at the end of an installation.
  const installed = statSync(`${TOOLING}node_modules/.package-lock.json`, { throwIfNoEntry: false });
  if (installed && installed.mtimeMs >= statSync(`${TOOLING}package-lock.json`).mtimeMs) return;
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: TOOLING, stdio: 'inherit' });
}
