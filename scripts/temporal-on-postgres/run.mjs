import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { startTemporalOnPostgres } from './start.mjs';

/**
 * Runs a command whose embedded stack uses production's Temporal: the server on its own Postgres.
 * @param env variables beside those of this process
 * @returns the exit code of the command
 */
export async function runOnPostgres(command, args, env = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-production-'));
  const cacheDir =
    process.env.CACHE_DIR || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service');
  try {
    const progress = (line) => process.stderr.write(`${line}\n`);
    const temporal = await startTemporalOnPostgres({ folder, cacheDir, progress });
    const child = spawn(command, args, {
      stdio: 'inherit',
      env: {
        ...process.env,
        ...env,
        ...temporal.env,
        PATH: `${temporal.bin}${delimiter}${process.env.PATH}`,
      },
    });
    const [code] = await once(child, 'exit');
    await temporal.stop();
    return code ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
