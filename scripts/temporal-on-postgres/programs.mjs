import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The server that the dev server of src/local/temporal-binary.ts has in it, and docker-compose.yml. */
const VERSION = '1.29.1';
const MODULE = 'go.temporal.io/server';

/**
 * Temporal's server, the tool for its schema, and the schema: built with Go once, which takes some minutes, and kept in the cache.
 * @returns `{ server, sql, schema }`: two programs and a folder
 */
export async function findPrograms(cacheDir, progress) {
  const kept = join(cacheDir, `temporal-server-${VERSION}`);
  if (!existsSync(kept)) {
    const draft = `${kept}.${process.pid}`;
    mkdirSync(draft, { recursive: true });
    try {
      progress(`building Temporal's server ${VERSION} with Go, once: about three minutes`);
      await build(draft);
      renameSync(draft, kept);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return { server: join(kept, 'server'), sql: join(kept, 'sql'), schema: join(kept, 'schema') };
}

async function build(folder) {
  const go = (args) => promisify(execFile)('go', args, { env: { ...process.env, GOBIN: folder }, cwd: folder });
  await go(['install', `${MODULE}/cmd/server@v${VERSION}`, `${MODULE}/cmd/tools/sql@v${VERSION}`]);
  const { stdout } = await go(['mod', 'download', '-json', `${MODULE}@v${VERSION}`]);
  cpSync(join(JSON.parse(stdout).Dir, 'schema/postgresql/v12'), join(folder, 'schema'), { recursive: true });
}
