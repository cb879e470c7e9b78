import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The minor release of docker-compose.yml. The patch release may be older: a later patch can need a newer Go, or a
 * module that is on no proxy.
 */
export const SERVER_VERSION = '1.31.2';
const MODULE = 'go.temporal.io/server';

/**
 * Builds Temporal's server and its schema tool with Go, and gets the schema. The build takes some minutes and stays in
 * the cache.
 * @returns `{ server, tools, schema }`: a program, the folder that has temporal-sql-tool, and the folder of the schema
 */
export async function findPrograms(cacheDir, progress, version = SERVER_VERSION) {
  const kept = join(cacheDir, `temporal-on-postgres-${version}`);
  if (!existsSync(kept)) {
    const draft = `${kept}.${process.pid}`;
    mkdirSync(draft, { recursive: true });
    try {
      progress(`building Temporal's server ${version} with Go, once; this takes about three minutes`);
      await build(draft, version);
      renameSync(draft, kept);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return { server: join(kept, 'server'), tools: kept, schema: join(kept, 'schema') };
}

async function build(folder, version) {
  const go = (args) => promisify(execFile)('go', args, { env: { ...process.env, GOBIN: folder }, cwd: folder });
  await go(['install', `${MODULE}/cmd/server@v${version}`, `${MODULE}/cmd/tools/sql@v${version}`]);
  // The name of the folder in Temporal's images.
  renameSync(join(folder, 'sql'), join(folder, 'temporal-sql-tool'));
  const { stdout } = await go(['mod', 'download', '-json', `${MODULE}@v${version}`]);
  cpSync(join(JSON.parse(stdout).Dir, 'schema/postgresql/v12'), join(folder, 'schema'), { recursive: true });
}
