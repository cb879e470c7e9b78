import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { postgresUser, startPostgres } from '../../dist/src/local/postgres.js';
import { postgresUrl } from '../../dist/src/local/stack-state.js';
import { freePort } from '../../dist/src/platform/free-port.js';
import { Secret } from '../../dist/src/platform/secret.js';
import { makeLocalDir } from '../../dist/test/support/local-dir.js';

const PASSWORD = new Secret('drill');

/** The database of a server, or of a relay in front of it, at this port. */
export const urlAt = (port) => postgresUrl(port, PASSWORD);

/**
 * Starts an embedded Postgres in its own folder.
 * @param backup of `backUp`: the server starts from it, as `signal` says (`standby` or `recovery`)
 */
export async function startServer({ settings = [], backup, signal } = {}) {
  const place = makeLocalDir();
  const folder = join(place.path, 'postgres/data');
  if (backup) {
    mkdirSync(folder, { recursive: true });
    execFileSync('tar', ['-C', folder, '-xpf', backup.file]);
    const user = postgresUser();
    for (const [name, content] of Object.entries({ backup_label: backup.label, [`${signal}.signal`]: '' })) {
      writeFileSync(join(folder, name), content);
      if (user) chownSync(join(folder, name), user.uid, user.gid);
    }
  } else mkdirSync(place.path, { recursive: true });
  const port = await freePort();
  const url = urlAt(port);
  let pid;
  const onStart = (record) => {
    pid = record.pid;
  };
  const plan = { localDir: place.path, port, password: PASSWORD, settings, onStart, progress() {}, signal: undefined };
  const child = await startPostgres(plan);
  return {
    port,
    url,
    folder,
    query: (text) => query(url, text),
    /** `kill -9` of the postmaster, without a restart. */
    async kill() {
      process.kill(pid, 'SIGKILL');
      await child.stop();
    },
    stop: () => child.stop(),
    async remove() {
      await child.stop();
      await place.remove();
    },
  };
}

async function query(url, text) {
  const client = new pg.Client({ connectionString: url.reveal() });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** The connection string of a standby to the primary at this port. */
export function connectionTo(port) {
  const { username, password } = new URL(urlAt(port).reveal());
  return `host=127.0.0.1 port=${port} user=${username} password=${password}`;
}

/**
 * A base backup of a running server with Postgres's low-level API: the embedded programs have no pg_basebackup. The log is
 * not in it; a server that starts from it needs the archive or the primary.
 */
export async function backUp(server, file) {
  const client = new pg.Client({ connectionString: server.url.reveal() });
  await client.connect();
  try {
    await client.query(`select pg_backup_start('drill', true)`);
    await promisify(execFile)('tar', ['-C', server.folder, ...NOT_COPIED, '-cf', file, '.']).catch((error) => {
      // A file changed or vanished while it was read, which the log repairs.
      if (error.code !== 1) throw error;
    });
    const { rows } = await client.query('select labelfile as label from pg_backup_stop(true)');
    return { file, label: rows[0].label };
  } finally {
    await client.end();
  }
}

const NOT_COPIED = ['--exclude=./pg_wal/*', '--exclude=./postmaster.*'];

/** A TCP address in front of a server: the name that a failover moves, or a link that breaks. */
export async function startRelay(target) {
  const open = new Set();
  let to = target;
  const keep = (socket) => {
    open.add(socket);
    return socket.on('error', () => {}).on('close', () => open.delete(socket));
  };
  const relay = createServer((socket) => {
    keep(socket);
    if (to === undefined) return socket.destroy();
    const behind = keep(connect(to, '127.0.0.1'));
    socket.on('close', () => behind.destroy());
    behind.on('close', () => socket.destroy());
    return socket.pipe(behind).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    port: relay.address().port,
    /** Ends all connections. Later ones reach `target`; undefined: none. */
    move(target) {
      to = target;
      for (const socket of open) socket.destroy();
    },
    close() {
      relay.close();
      for (const socket of open) socket.destroy();
    },
  };
}
