#!/usr/bin/env node
// Issue 6, item 5: Postgres's disk is full, for real: its tables (or with --wal its log, at which it panics) lie on a tmpfs of 64 MiB.
// Root only, for `mount`. Fills the disk, shows what a client sees, makes room, and shows that all of it goes on.
// `node scripts/drills/full-disk.mjs [--wal]`
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, cpSync, lchownSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { postgresUser } from '../../dist/src/local/postgres-place.js';
import { caller, must } from '../../dist/test/support/caller.js';
import { runCli } from '../../dist/test/support/cli.js';
import { makeTransfers } from '../../dist/test/support/load.js';
import { makeLocalDir } from '../../dist/test/support/local-dir.js';
import { startRole } from '../../dist/test/support/role-process.js';
import { startStackProcess } from '../../dist/test/support/stack-process.js';
import { waitFor } from '../../dist/test/support/wait-for.js';

const {
  values: { wal },
} = parseArgs({ options: { wal: { type: 'boolean', default: false } } });
const user = postgresUser();
if (!user) throw new Error('only root can mount a small disk');
const small = mkdtempSync('/var/lib/small-disk-');
const mount = (...args) => execFileSync('mount', args);
mount('-t', 'tmpfs', '-o', 'size=64m', 'none', small);
chownSync(small, user.uid, user.gid);
const place = makeLocalDir();
let stack = await startStackProcess(place.path);
if (wal) {
  // Postgres's log moves to the small disk while it is stopped.
  await stack.stop();
  const log = join(realpathSync(join(place.path, 'postgres')), 'data/pg_wal');
  const moved = join(small, 'pg_wal');
  cpSync(log, moved, { recursive: true });
  for (const name of ['', ...readdirSync(moved, { recursive: true })])
    lchownSync(join(moved, name), user.uid, user.gid);
  rmSync(log, { recursive: true });
  symlinkSync(moved, log);
  stack = await startStackProcess(place.path);
}
const env = { ...stack.env, LOG_LEVEL: 'warn', RATE_LIMIT: '1000000' };
await runCli(['migrate'], env);
const admin = async (text, url = env.DATABASE_URL.replace(/\/[^/]*$/, '/postgres')) => {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
};
if (!wal) {
  await admin(`create tablespace small location '${small}'`);
  await admin(`alter database ${new URL(env.DATABASE_URL).pathname.slice(1)} set tablespace small`);
}
const credentials = JSON.parse((await runCli(['clients', 'create', '--json', '--name', 'drill'], env)).stdout);
const service = startRole('start', env);
await service.ready;
const client = await caller({ auth_url: env.AUTH_URL, base_url: env.BASE_URL }, credentials);

async function cleanUp() {
  await service.stop();
  await stack.stop();
  await place.remove();
  execFileSync('umount', ['-l', small]);
  rmSync(small, { recursive: true, force: true });
}
process.once('uncaughtException', async (error) => {
  console.error(error);
  await cleanUp();
  process.exit(1);
});

const ids = await makeTransfers(client, 20);
/** Past the API, which would take minutes: in the service's own database, in what does not compress. */
await admin('create table filler (x text)', env.DATABASE_URL);
const filled = await admin(
  `insert into filler select repeat(md5(n::text), 30) from generate_series(1, 300000) n`,
  env.DATABASE_URL,
).catch((error) => error);
console.log(`filled: ${filled.code ?? ''} ${filled.message}`);
/** What is left is used up by transfers, 5 KiB each. */
const metadata = () =>
  Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`k${i}`, randomBytes(250).toString('hex')]));
const transfer = () => ({
  amount: { value: 1, currency: 'EUR' },
  destination: { name: 'a', account: 'b' },
  metadata: metadata(),
});
const refusal = await waitFor(
  'a refusal',
  async () => {
    const answer = await client('POST', '/transfers', transfer());
    return answer.status !== 201 && answer;
  },
  60_000,
);
console.log(
  `then ${refusal.status} ${JSON.stringify(refusal.body)}, Retry-After ${refusal.headers.get('retry-after')}`,
);
const changes = await Promise.all(
  ids.map((id) =>
    client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }).catch(() => ({ status: 0 })),
  ),
);
console.log(`changes while it is full: ${JSON.stringify(changes.map(({ status }) => status))}`);
await sleep(3_000);
console.log(`readyz: ${await fetch(`${env.BASE_URL}/readyz`).then((answer) => answer.text())}`);
mount('-o', 'remount,size=512m', small);
const roomAt = Date.now();
await waitFor(
  'a change to be taken',
  async () => {
    const answer = await client('POST', '/transfers', {
      amount: { value: 1, currency: 'EUR' },
      destination: { name: 'a', account: 'b' },
    }).catch(() => undefined);
    return answer?.status === 201;
  },
  120_000,
);
console.log(`with room again it serves after ${((Date.now() - roomAt) / 1_000).toFixed(1)} s`);
for (const [i, id] of ids.entries()) {
  const { status, status_history: history } = await must(client('GET', `/transfers/${id}`));
  const events = (await must(client('GET', `/events?transfer_id=${id}`))).data.length;
  const wanted = changes[i].status === 200 ? ['PROCESSING', 2, 1] : ['CREATED', 1, 0];
  if (JSON.stringify([status, history.length, events]) !== JSON.stringify(wanted))
    console.log(`HALF DONE: ${id} ${changes[i].status} ${status} ${history.length} ${events}`);
}
console.log('every change is there whole or not at all');
for (const line of [...new Set(stack.progress)]) console.log(`stack: ${line}`);
await cleanUp();
