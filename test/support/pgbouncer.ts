import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settings } from '../../src/platform/config/config.js';
import { freePort } from '../../src/platform/free-port.js';
import { Secret } from '../../src/platform/secret.js';
import { asRole } from './runtime-role.js';
import { waitFor } from './wait-for.js';

/** The first release that keeps prepared statements across transactions is 1.21. */
const SUPPORTED = /^PgBouncer 1\.(2[1-9]|[3-9]\d)\./m;

/** The program `pgbouncer` on PATH or in the cache; undefined if there is none of a supported release. */
export const pgbouncer = ['pgbouncer', join(process.env.CACHE_DIR || settings.CACHE_DIR.byDefault, 'pgbouncer')].find(
  (program) => SUPPORTED.test(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? ''),
);

export interface Pooler {
  /** The given URL, through the pooler. */
  url: Secret;
  stop(): Promise<void>;
}

/** Starts PgBouncer in transaction mode in front of `url`. @param size connections to Postgres */
export async function startPooler(url: Secret, size: number): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  chmodSync(folder, 0o755);
  const { hostname, port: serverPort, username, password, pathname } = new URL(url.reveal());
  const port = await freePort();
  const users = join(folder, 'users.txt');
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(users, `"${username}" "${password}"\n`, { mode: 0o644 });
  writeFileSync(
    config,
    `[databases]
${pathname.slice(1)} = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
max_prepared_statements = 200
default_pool_size = ${size}
`,
  );
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
  const child: ChildProcess = spawn(pgbouncer ?? 'pgbouncer', [...user, '--quiet', config], { stdio: 'ignore' });
  const address = new URL(url.reveal());
  Object.assign(address, { hostname: '127.0.0.1', port: String(port) });
  const pooled = new Secret(address.href);
  await waitFor('PgBouncer', () =>
    asRole(pooled, (client) => client.query('select 1')).then(
      () => true,
      () => false,
    ),
  );
  return {
    url: pooled,
    async stop() {
      child.kill('SIGINT');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
