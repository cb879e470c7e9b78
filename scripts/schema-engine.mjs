// Prisma's schema engine as WebAssembly from the package registry, for `npm run migration` and the test that compares the
// migrations with schema.prisma. `prisma migrate` downloads the same engine as a binary, which is not available everywhere.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { installTooling, TOOLING } from './client/tooling.mjs';

/**
 * The SQL that leads from the schema `from` to the schema `to`, both texts of schema.prisma; `from` null: nothing.
 * @param url of any database of the same server version, which is not changed
 */
export async function schemaChanges(url, from, to) {
  const bindings = await loadEngine();
  const pool = new pg.Pool({ connectionString: url.reveal(), max: 1, connectionTimeoutMillis: 5_000 });
  try {
    const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool));
    const engine = await bindings.SchemaEngine.new({ datamodels: [['schema.prisma', to]] }, () => {}, adapter);
    const target = (content) => ({ tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content }] });
    const { stdout } = await engine.diff({
      from: from === null ? { tag: 'empty' } : target(from),
      to: target(to),
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
      shadowDatabaseUrl: null,
    });
    engine.free();
    return stdout ?? '';
  } finally {
    await pool.end();
  }
}

/** The package's own entry imports the .wasm as a module, which Node does not support. This binds the module instead. */
async function loadEngine() {
  installTooling();
  const folder = join(TOOLING, 'node_modules/@prisma/schema-engine-wasm');
  const bindings = await import(pathToFileURL(join(folder, 'schema_engine_bg.js')).href);
  const imports = { ...bindings };
  // The engine never clears its timer of 10 s for taking a lock. The timer must not keep a finished process alive.
  const timer = Object.keys(imports).find((name) => name.startsWith('__wbg_setTimeout'));
  if (timer) imports[timer] = (callback, delay) => setTimeout(callback, delay >>> 0).unref();
  const wasm = await readFile(join(folder, 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': imports });
  bindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return bindings;
}
