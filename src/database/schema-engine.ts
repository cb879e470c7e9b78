import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { SchemaEngine } from '@prisma/schema-engine-wasm';
import pg from 'pg';
import type { Secret } from '../secret.js';

/** Of the global, what is used here: TypeScript keeps it among the browser's types. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>;
};

/**
 * Lends Prisma's schema engine as WebAssembly from the package registry: what `prisma migrate` runs as a binary that it
 * downloads, and that cannot be had everywhere. `schema`: the text of prisma/schema.prisma.
 */
export async function withSchemaEngine<T>(
  url: Secret,
  schema: string,
  work: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  const { SchemaEngine } = await loadEngine();
  // The engine takes a lock on its session and leaves it to the end of the connection to give it back: a pool that ends here.
  const pool = new pg.Pool({ connectionString: url.reveal(), max: 1, connectionTimeoutMillis: 5_000 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  try {
    const adapter = bindMigrationAwareSqlAdapterFactory(new WholeScripts(pool));
    const engine = await SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => {}, adapter);
    try {
      return await work(engine);
    } finally {
      engine.free();
    }
  } finally {
    await pool.end();
  }
}

/**
 * Runs a migration's file in one go, which Postgres takes for one transaction: all of it is done, or nothing. The adapter
 * itself cuts it at each semicolon.
 */
class WholeScripts extends PrismaPg {
  override async connect() {
    const adapter = await super.connect();
    adapter.executeScript = async (script) => {
      await adapter.executeRaw({ sql: script, args: [], argTypes: [] });
    };
    return adapter;
  }
}

let loaded: ReturnType<typeof instantiate> | undefined;

function loadEngine(): ReturnType<typeof instantiate> {
  loaded ??= instantiate();
  return loaded;
}

/** The package's own entry imports the .wasm as a module, which Node cannot do; so it is bound by hand. */
async function instantiate() {
  const bindings = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const folder = join(createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm'), '..');
  const imports: Record<string, unknown> = { ...bindings };
  // Its 10 s limit on taking a lock is never cleared: it must not keep a process alive that has finished.
  const timer = Object.keys(imports).find((name) => name.startsWith('__wbg_setTimeout'));
  if (timer) imports[timer] = (callback: () => void, delay: number) => setTimeout(callback, delay >>> 0).unref();
  const wasm = await readFile(join(folder, 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': imports });
  bindings.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  return bindings;
}
