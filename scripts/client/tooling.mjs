import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of the tools that need TypeScript 5. */
export const TOOLING = fileURLToPath(new URL('../../clients/tooling/', import.meta.url));

/** Installs the tools unless they are there. */
export function installTooling() {
  if (existsSync(`${TOOLING}node_modules`)) return;
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: TOOLING, stdio: 'inherit' });
}
