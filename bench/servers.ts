import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
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

/**
 * Postgres and Temporal as the embedded stack runs them, but as children of the bench: the service's own use stays
 * apart.
 */
export interface Servers {
  databaseUrl: Secret;
  temporal: Config['temporal'];
  parts: Parts;
  /** Ends both servers and removes their data. */
  stop(): Promise<void>;
}

/** @param postgresSettings further ones, such as `max_connections=400` */
export async function startServers(
  say: (line: string) => void,
  postgresSettings: readonly string[] = [],
): Promise<Servers> {
  const localDir = mkdtempSync(join(tmpdir(), 'transfer-service-bench-'));
  const settings = readEnvironment(process.env);
  const [postgresPort, temporalPort, uiPort] = [await freePort(), await freePort(), await freePort()];
  const password = new Secret(randomBytes(24).toString('hex'));
  const temporal = temporalAt(`127.0.0.1:${temporalPort}`, settings);
  const common = { localDir, progress: say, signal: undefined };
  const parts: Record<string, readonly number[]> = {};
  const running: { postgres?: Child; temporal?: Child } = {};

  const launchPostgres = async () => {
    const onStart = ({ pid }: { pid: number }) => Object.assign(parts, { postgres: [pid] });
    const server = { port: postgresPort, password, settings: postgresSettings };
    running.postgres = await startPostgres({ ...common, ...server, onStart });
  };
  const launchTemporal = async () => {
    const command = await findTemporal({ ...common, cacheDir: settings.CACHE_DIR, path: process.env.PATH });
    const onStart = ({ pid }: { pid: number }) => Object.assign(parts, { temporal: [pid] });
    const { namespace } = temporal;
    running.temporal = await startTemporal({ ...common, command, port: temporalPort, uiPort, namespace, onStart });
  };
  const stop = async () => {
    await Promise.all([running.temporal?.stop(), running.postgres?.stop()]);
    rmSync(localDir, { recursive: true, force: true });
  };
  try {
    await launchPostgres();
    await launchTemporal();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    databaseUrl: postgresUrl(postgresPort, password),
    temporal,
    parts,
    stop,
  };
}
