import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, readEnvironment, temporalAt } from '../src/config.js';
import { freePort } from '../src/free-port.js';
import type { Child } from '../src/local/child.js';
import { startPostgres } from '../src/local/postgres.js';
import { postgresUrl } from '../src/local/postgres-url.js';
import { startTemporal } from '../src/local/temporal.js';
import { findTemporal } from '../src/local/temporal-binary.js';
import { Secret } from '../src/secret.js';
import type { Parts } from './processes.js';

/**
 * Postgres and Temporal as the embedded stack runs them, but as children of the bench: the service's own use stays
 * apart.
 */
export interface Servers {
  databaseUrl: Secret;
  temporal: Config['temporal'];
  parts: Parts;
  startTemporal(): Promise<void>;
  stopTemporal(): Promise<void>;
  temporalBytesOnDisk(): number;
  /** Ends both servers and removes their data. */
  stop(): Promise<void>;
}

export async function startServers(say: (line: string) => void): Promise<Servers> {
  const localDir = mkdtempSync(join(tmpdir(), 'transfer-service-bench-'));
  const settings = readEnvironment(process.env);
  const [postgresPort, temporalPort, uiPort] = [await freePort(), await freePort(), await freePort()];
  const password = new Secret(randomBytes(24).toString('hex'));
  const temporal = temporalAt(`127.0.0.1:${temporalPort}`, settings);
  const common = { localDir, progress: say, signal: undefined };
  const parts = { postgres: 0, temporal: 0 };
  const running: Partial<Record<keyof typeof parts, Child>> = {};

  const launchPostgres = async () => {
    const onStart = ({ pid }: { pid: number }) => Object.assign(parts, { postgres: pid });
    running.postgres = await startPostgres({ ...common, port: postgresPort, password, onStart });
  };
  const launchTemporal = async () => {
    const command = await findTemporal({ ...common, cacheDir: settings.CACHE_DIR, path: process.env.PATH });
    const onStart = ({ pid }: { pid: number }) => Object.assign(parts, { temporal: pid });
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
    startTemporal: launchTemporal,
    stopTemporal: async () => running.temporal?.stop(),
    temporalBytesOnDisk: () => bytesBelow(join(localDir, 'temporal')),
    stop,
  };
}

const bytesBelow = (folder: string) =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
