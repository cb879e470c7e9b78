import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Child } from '../src/local/child.js';
import { startPostgres } from '../src/local/postgres.js';
import { postgresUrl } from '../src/local/stack-state.js';
import { startTemporal } from '../src/local/temporal.js';
import { findTemporal } from '../src/local/temporal-program.js';
import { type Config, readEnvironment, temporalAt } from '../src/platform/config/config.js';
import { freePort } from '../src/platform/free-port.js';
import { Secret } from '../src/platform/secret.js';
import type { Parts } from './processes.js';
import { startStore } from './temporal-store.js';

/** Temporal's dev server on SQLite, or the production server, built once with Go, on its own Postgres. */
export const TEMPORAL_KINDS = ['dev', 'postgres'] as const;
export type TemporalKind = (typeof TEMPORAL_KINDS)[number];

/**
 * Postgres and Temporal as the embedded stack runs them, but as children of the bench: the service's own use stays
 * apart.
 */
export interface Servers {
  databaseUrl: Secret;
  /** Of Temporal's own Postgres; undefined on the dev server. */
  storeUrl: Secret | undefined;
  temporal: Config['temporal'];
  parts: Parts;
  startTemporal(): Promise<void>;
  stopTemporal(): Promise<void>;
  /** Of the dev server's files. */
  temporalBytesOnDisk(): number;
  /** Ends both servers and removes their data. */
  stop(): Promise<void>;
}

/** @param postgresSettings further ones, such as `max_connections=400` */
export async function startServers(
  say: (line: string) => void,
  kind: TemporalKind,
  postgresSettings: readonly string[] = [],
): Promise<Servers> {
  const localDir = mkdtempSync(join(tmpdir(), 'transfer-service-bench-'));
  const settings = readEnvironment(process.env);
  const [postgresPort, temporalPort, uiPort] = [await freePort(), await freePort(), await freePort()];
  const password = new Secret(randomBytes(24).toString('hex'));
  const temporal = temporalAt(`127.0.0.1:${temporalPort}`, settings);
  const common = { localDir, progress: say, signal: undefined };
  const parts: Record<string, readonly number[]> = {};
  const running: { postgres?: Child; temporal?: Child; store?: Awaited<ReturnType<typeof startStore>> } = {};

  const launchPostgres = async () => {
    const onStart = ({ pid }: { pid: number }) => Object.assign(parts, { postgres: [pid] });
    const server = { port: postgresPort, password, settings: postgresSettings };
    running.postgres = await startPostgres({ ...common, ...server, onStart });
  };
  const launchTemporal = async () => {
    // The program in the store's folder runs the server on the store.
    const path = running.store?.bin ?? process.env.PATH;
    const command = await findTemporal({ ...common, cacheDir: settings.CACHE_DIR, path });
    const onStart = ({ pid }: { pid: number }) => Object.assign(parts, { temporal: [pid] });
    const { namespace } = temporal;
    running.temporal = await startTemporal({ ...common, command, port: temporalPort, uiPort, namespace, onStart });
  };
  const stop = async () => {
    await Promise.all([running.temporal?.stop(), running.postgres?.stop()]);
    await running.store?.stop();
    rmSync(localDir, { recursive: true, force: true });
  };
  try {
    await launchPostgres();
    if (kind === 'postgres') {
      running.store = await startStore({
        folder: join(localDir, 'store'),
        cacheDir: settings.CACHE_DIR,
        progress: say,
      });
      Object.assign(parts, { store: [running.store.pid] });
    }
    await launchTemporal();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    databaseUrl: postgresUrl(postgresPort, password),
    storeUrl: running.store && new Secret(running.store.url),
    temporal,
    parts,
    startTemporal: launchTemporal,
    stopTemporal: async () => running.temporal?.stop(),
    temporalBytesOnDisk: () => bytesBelow(join(localDir, 'temporal')),
    stop,
  };
}

const bytesBelow = (folder: string) =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
