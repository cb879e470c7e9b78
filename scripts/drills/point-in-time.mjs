#!/usr/bin/env node
// Point-in-time recovery under load: a base backup while changes are made, a log that is archived, and an operator who
// removes every event. Restores the database to the moment before, as docs/operations/backup-and-restore.md says.
// Prints what was acknowledged and is lost, and how the runbook finds it. The exit code is 1 if more is lost than must be,
// or if a lost change that arrived is not found. `npm run build`, then `node scripts/drills/point-in-time.mjs [--rate 20]`.
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { postgresUser } from '../../dist/src/local/postgres.js';
import { waitFor } from '../../dist/test/support/wait-for.js';
import { backUp } from './postgres-servers.mjs';
import { withSite } from './restored-site.mjs';

const { values } = parseArgs({ options: { rate: { type: 'string', default: '20' } } });
const seconds = (since) => Math.round((Date.now() - since) / 10) / 100;

console.table(await withSite(restore));
process.exit();

async function restore({ folder, addServer, addRelay, start }) {
  const archive = makeArchive(folder);
  const primary = await addServer({
    settings: ['archive_mode=on', `archive_command=test ! -f ${archive}/%f && cp %p ${archive}/%f`],
  });
  const address = await addRelay(primary.port);
  const site = await start(address.port, Number(values.rate));
  await sleep(5_000);
  const backupBegan = Date.now();
  const backup = await backUp(primary, join(folder, 'base.tar'));
  const backupTook = seconds(backupBegan);
  await sleep(10_000);

  const [{ now: moment }] = await primary.query('select now()');
  await sleep(100);
  await primary.query('truncate events cascade');
  await sleep(5_000);
  const noticedAt = Date.now();
  await site.stopRoles();
  await primary.query('select pg_switch_wal()');
  await waitFor('the log to be archived', async () => {
    const [{ done }] = await primary.query(
      'select last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) as done from pg_stat_archiver',
    );
    return done;
  });
  await primary.stop();

  const restoreBegan = Date.now();
  const restored = await addServer({
    backup,
    signal: 'recovery',
    settings: [
      `restore_command=cp ${archive}/%f %p`,
      `recovery_target_time=${moment.toISOString().replace('Z', '+00')}`,
      'recovery_target_action=promote',
    ],
  });
  await waitFor('the end of recovery', async () => {
    const [{ recovering }] = await restored.query('select pg_is_in_recovery() as recovering');
    return !recovering;
  });
  const restoreTook = seconds(restoreBegan);
  address.move(restored.port);
  await site.cli('migrate');
  await site.startRoles('worker');
  await site.startRoles('api');
  const recovered = await site.untilAcknowledged(noticedAt);
  await sleep(10_000);
  return {
    'base backup under load, s': backupTook,
    'base backup, MiB': Math.round(statSync(backup.file).size / 2 ** 20),
    ...(await site.judge(moment.toISOString(), noticedAt)),
    'restore and replay, s': restoreTook,
    'stopped until a change is acknowledged, s': recovered,
  };
}

/** A folder that Postgres may write. */
function makeArchive(folder) {
  const archive = join(folder, 'archive');
  mkdirSync(archive);
  const user = postgresUser();
  if (user) execFileSync('chown', [`${user.uid}:${user.gid}`, archive]);
  execFileSync('chmod', ['711', folder]);
  return archive;
}
