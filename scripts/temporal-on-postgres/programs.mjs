import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The minor release of docker-compose.yml. The patch release may be older: a later patch can need a newer Go, or a
 * module that is on no proxy.
 */
const SERVER_VERSION = '1.31.2';
const MODULE = 'go.temporal.io/server';

/**
 * Builds Temporal's server and its schema tool with Go, and gets the schema. The build takes some minutes and stays in
 * the cache.
 * @returns `{ server, tools, schema }`: a program, the folder that has temporal-sql-tool, and the folder of the schema
 */
export async function findPrograms(cacheDir, progress) {
  const kept = join(cacheDir, `temporal-on-postgres-${SERVER_VERSION}`);
  if (!existsSync(kept)) {
    const draft = `${kept}.${process.pid}`;
    mkdirSync(draft, { recursive: true });
    try {
      progress(`building Temporal's server ${SERVER_VERSION} with Go, once; this takes about three minutes`);
      await build(draft);
      renameSync(draft, kept);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return { server: join(kept, 'server'), tools: kept, schema: join(kept, 'schema') };
}

async function build(folder) {
  const go = (args) => promisify(execFile)('go', args, { env: { ...process.env, GOBIN: folder }, cwd: folder });
  await go(['install', `${MODULE}/cmd/server@v${SERVER_VERSION}`, `${MODULE}/cmd/tools/sql@v${SERVER_VERSION}`]);
  // The name of the folder in Temporal's images.
  renameSync(join(folder, 'sql'), join(folder, 'temporal-sql-tool'));
  const { stdout } = await go(['mod', 'download', '-json', `${MODULE}@v${SERVER_VERSION}`]);
  cpSync(join(JSON.parse(stdout).Dir, 'schema/postgresql/v12'), join(folder, 'schema'), { recursive: true });
}
