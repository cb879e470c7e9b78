// Run by the Dockerfile: lets commands leave their compiled code in dist/.compile-cache (src/cli/load-quickly.ts), since
// they cannot write there later. A database command loads all its modules before it finds that Postgres is unreachable.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const COMMANDS = [
  'clients list',
  'transfers set-status 1 2',
  'endpoints list',
  'deliveries list',
  'audit list',
  'doctor',
];

const env = { ...process.env, ENVIRONMENT: 'sandbox', DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' };
for (const command of COMMANDS) {
  spawnSync(process.execPath, ['dist/src/cli.js', ...command.split(' ')], { cwd: root, env });
}
const cache = join(root, 'dist/.compile-cache');
if (!existsSync(cache)) throw new Error(`the commands left no compiled code in ${cache}`);
