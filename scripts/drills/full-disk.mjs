#!/usr/bin/env node
// Fills Postgres's disk: its tables (or with --wal its log, at which it panics) are on a disk of 64 MiB. Needs
// root for `mount`. Changes are requested before, while the disk is full, and after; then the crash run's judges check
// each of them. The exit code is 1 if anything is lost or half done, or if an error is not a 503 with Retry-After.
// `node scripts/drills/full-disk.mjs [--wal] [--seconds 40]`
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { isRunning } from '../../dist/src/local/child.js';
import { readState } from '../../dist/src/local/stack-state.js';
import { judgeChanges } from '../../dist/test/crash/judge-changes.js';
import { judgeRecord } from '../../dist/test/crash/judge-record.js';
import { startLoad } from '../../dist/test/crash/load.js';
import { untilQuiet } from '../../dist/test/crash/quiet.js';
import { readRecord, withDatabase } from '../../dist/test/crash/record.js';
import { startReceiverProcess } from '../../dist/test/crash/service.js';
import { caller, must } from '../../dist/test/support/caller.js';
import { runCli } from '../../dist/test/support/cli.js';
import { makeLocalDir } from '../../dist/test/support/local-dir.js';
import { randomFrom } from '../../dist/test/support/random.js';
import { startRole } from '../../dist/test/support/role-process.js';
import { startStackProcess } from '../../dist/test/support/stack-process.js';
import { SECRET } from '../../dist/test/support/transfers.js';
import { waitFor } from '../../dist/test/support/wait-for.js';
import { printLogs } from './print-logs.mjs';
import { makeSmallDisk } from './small-disk.mjs';

const { values } = parseArgs({
  options: { wal: { type: 'boolean', default: false }, seconds: { type: 'string', default: '40' } },
});
const LADDER = '0s,1s,1s,2s,2s,3s,3s';
const RUNGS = 8;
const startedAt = Date.now();
const say = (line) => console.error(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s  ${line}`);

/** Undoes the drill's changes in reverse order, once. */
const undo = [];
let undone;
const cleanUp = () => {
  undone ??= (async () => {
    for (const step of undo.reverse()) await (async () => step())().catch((error) => say(`clean up: ${error.message}`));
  })();
  return undone;
};
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => cleanUp().then(() => process.exit(1)));

await drill()
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  })
  .then(cleanUp);
process.exit();

async function drill() {
  const disk = makeSmallDisk();
  undo.push(disk.remove);
  const place = makeLocalDir();
  undo.push(place.remove);
  await (await startStackProcess(place.path)).stop();
  disk.take(place.path, values.wal ? 'pg_wal' : 'base');
  const stack = await startStackProcess(place.path);
  undo.push(stack.stop);
  const env = { ...stack.env, LOG_LEVEL: 'warn', RATE_LIMIT: '1000000', DELIVERY_RETRY_DELAYS: LADDER };
  await runCli(['migrate'], env);
  const receiver = await startReceiverProcess(1, false);
  undo.push(() => receiver.process.disconnect());
  const service = startRole('start', env);
  undo.push(service.stop);
  undo.push(() => printLogs(join(place.path, 'postgres.log'), stack.progress, service.said));
  await service.ready;
  const connection = Connection.lazy({ address: env.TEMPORAL_ADDRESS });
  undo.push(() => connection.close());
  const temporal = new Client({ connection, namespace: env.TEMPORAL_NAMESPACE });
  const credentials = JSON.parse((await runCli(['clients', 'create', '--json', '--name', 'drill'], env)).stdout);
  const client = await caller({ auth_url: env.AUTH_URL, base_url: env.BASE_URL }, credentials);
  await must(client('POST', '/webhook-endpoints', { url: `${receiver.url}/faulty`, secret: SECRET }));

  const answers = { before: {}, full: {}, after: {} };
  undo.push(() => console.table(answers));
  const faults = [];
  let phase = 'before';
  let slowest = 0;
  const note = (what) => {
    answers[phase][what] = (answers[phase][what] ?? 0) + 1;
  };
  const watched = async (method, path, ...rest) => {
    const began = Date.now();
    const answer = await client(method, path, ...rest).catch((error) => {
      faults.push(`no answer to ${method} ${path}: ${error.cause ?? error}`);
      throw error;
    });
    const { status, headers } = answer;
    if (phase === 'full') slowest = Math.max(slowest, Date.now() - began);
    note(`${method === 'GET' ? 'read' : 'write'} ${status}`);
    if (status === 503 && !(Number(headers.get('retry-after')) > 0)) faults.push('a 503 without Retry-After');
    return answer;
  };
  const look = async () => {
    await watched('GET', '/transfers').catch(() => undefined);
    note(`/readyz ${(await fetch(`${env.BASE_URL}/readyz`)).status}`);
    await sleep(1_000);
  };
  const lookFor = async (seconds) => {
    for (const until = Date.now() + seconds * 1_000; Date.now() < until; ) await look();
  };

  const load = startLoad([watched], randomFrom(1), 10);
  await lookFor(8);
  disk.fill();
  phase = 'full';
  say('the disk is full');
  // The log's last file still has space. A switch needs the next file, and there is no space for it.
  if (values.wal) await useUpTheLog(env.DATABASE_URL);
  await waitFor('a write to be rejected', () => answers.full['write 503'] > 0, 60_000);
  say('writes are rejected');
  await lookFor(Number(values.seconds));
  disk.grow();
  phase = 'after';
  const roomAt = Date.now();
  const { length: askedBefore } = load.asked;
  await waitFor(
    'a change to be taken',
    () => load.asked.slice(askedBefore).some(({ answer }) => answer === 200),
    60_000,
  ).catch(async (error) => {
    say(`down: ${JSON.stringify(await describeOutage(env, place.path, stack, answers.after))}`);
    throw error;
  });
  say(`room: accepted a change after ${((Date.now() - roomAt) / 1_000).toFixed(1)} s`);
  await lookFor(8);
  await load.stop();

  const quietAfter = await untilQuiet({ databaseUrl: env.DATABASE_URL, temporal }, faults);
  say(`quiet after ${quietAfter} s`);
  const [record, arrivals] = [await withDatabase(env.DATABASE_URL, readRecord), await receiver.ask('arrivals')];
  const judgement = judgeRecord(record, arrivals, RUNGS);
  const changes = judgeChanges(load, record);
  faults.push(...judgement.faults, ...changes.faults);
  if (service.process.exitCode !== null) faults.push(`the service ended: ${service.said.at(-1)}`);
  for (const { id, status } of record.deliveries) if (status !== 'succeeded') faults.push(`${status}: delivery ${id}`);

  console.table({
    'changes asked for': load.asked.length,
    acknowledged: changes.acknowledged,
    'not acknowledged, yet made': changes.madeUnacknowledged,
    'deliveries, all succeeded': record.deliveries.length,
    'requests that the receiver saw': arrivals.length,
    'of them never recorded': judgement.unrecorded,
    'deliveries seen twice': judgement.duplicates,
    'slowest answer while full (ms)': slowest,
  });
  console.log(`lost, half done or untrue: ${faults.length}`);
  for (const fault of [...new Set(faults)].slice(0, 20)) console.log(`  ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
}

/** The parts that do not work: Postgres, its supervisor, the service. */
async function describeOutage(env, localDir, stack, answers) {
  const { postgres } = readState(localDir) ?? {};
  return {
    postgres: { ...postgres, running: postgres !== undefined && isRunning(postgres) },
    connection: await withDatabase(env.DATABASE_URL, (database) => database.query('select 1')).then(
      () => 'ok',
      (error) => error.message,
    ),
    readyz: await fetch(`${env.BASE_URL}/readyz`).then(
      (response) => response.text(),
      (error) => String(error.cause ?? error),
    ),
    supervisor: stack.progress.slice(-5),
    answers,
  };
}

async function useUpTheLog(databaseUrl) {
  await waitFor('Postgres to panic', () =>
    withDatabase(databaseUrl, (database) => database.query('select pg_switch_wal()')).then(
      () => false,
      () => true,
    ),
  );
}
