import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../../dist/src/local/postgres.js';
import { postgresUrl } from '../../dist/src/local/stack-state.js';
import { freePort } from '../../dist/src/platform/free-port.js';
import { Secret } from '../../dist/src/platform/secret.js';
import { findPrograms } from './programs.mjs';
import { applySchema } from './schema.mjs';

const PREPARE = fileURLToPath(new URL('./prepare.mjs', import.meta.url));
const PASSWORD = 'temporal';

/**
 * Starts a Postgres with Temporal's schema in `folder`, and writes a program `temporal` into `folder`/bin. For `server
 * start-dev …` the program starts Temporal's server on that Postgres instead of the dev server on SQLite. A process
 * that finds this program first on its PATH runs on production's Temporal, without any other change.
 * @returns `{ bin, url, pid, env, stop }`: the program's folder, the URL and the first process of the Postgres, and what tells
 * a test which process it may kill
 */
export async function startTemporalOnPostgres({ folder, cacheDir, progress }) {
  const programs = await findPrograms(cacheDir, progress);
  const port = await freePort();
  const pidFile = join(folder, 'temporal-postgres.pid');
  const password = new Secret(PASSWORD);
  let pid = 0;
  const onStart = (record) => {
    pid = record.pid;
    keepPid(pidFile, pid);
  };
  const postgres = await startPostgres({
    ...{ localDir: folder, port, password, settings: ['max_connections=500'] },
    ...{ onStart, progress, signal: undefined },
  });
  const url = postgresUrl(port, password, 'postgres').reveal();
  await applySchema(programs, url);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(
    join(bin, 'temporal'),
    `#!/bin/sh
set -e
config=$('${process.execPath}' '${PREPARE}' '${url}' "$@")
exec '${programs.server}' --root / --config "$config" --env server --allow-no-auth start
`,
    { mode: 0o755 },
  );
  return {
    ...{ bin, url, pid },
    env: { TEMPORAL_POSTGRES_PID_FILE: pidFile, TEMPORAL_POSTGRES_URL: url },
    stop: () => postgres.stop(),
  };
}

/** Written atomically, so a reader never finds half a number. */
function keepPid(file, pid) {
  writeFileSync(`${file}.new`, String(pid));
  renameSync(`${file}.new`, file);
}
