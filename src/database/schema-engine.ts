import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { SchemaEngine } from '@prisma/schema-engine-wasm';
import pg from 'pg';
import type { Secret } from '../secret.js';

/** The part of the global that this file uses. TypeScript declares it only with the browser's types. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>;
};

/**
 * Runs `work` with Prisma's schema engine as WebAssembly from the package registry. `prisma migrate` downloads the same
 * engine as a binary, which is not available everywhere. `schema` is the text of prisma/schema.prisma.
 */
export async function withSchemaEngine<T>(
  url: Secret,
  schema: string,
  work: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  const { SchemaEngine } = await loadEngine();
  // The engine releases its session lock only at the end of its connection, so this pool ends here.
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
 * Runs a migration's file as one statement, which Postgres runs as one transaction, all or nothing. The adapter itself
 * would split the file at each semicolon.
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

/**
 * The package's own entry imports the .wasm as a module, which Node does not support. This binds the module instead.
 */
async function instantiate() {
  const bindings = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const folder = join(createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm'), '..');
  const imports: Record<string, unknown> = { ...bindings };
  // The engine never clears its timer of 10 s for taking a lock. The timer must not keep a finished process alive.
  const timer = Object.keys(imports).find((name) => name.startsWith('__wbg_setTimeout'));
  if (timer) imports[timer] = (callback: () => void, delay: number) => setTimeout(callback, delay >>> 0).unref();
  const wasm = await readFile(join(folder, 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': imports });
  bindings.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  return bindings;
}
