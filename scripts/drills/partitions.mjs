#!/usr/bin/env node
// Cuts between the machines of docker-compose.yml, each container a machine, with 20 status changes a second by two
// clients. The container's own firewall drops the packets. Prints a row for each fault. The exit code is 1 if an
// acknowledged change is lost or has not arrived 60 s after the fault has ended, if a request got a 500, if a worker hears
// no notifications afterwards, or if first deliveries whose path was not cut took longer than 1 s at p99. Needs root on
// Linux. `node scripts/drills/partitions.mjs [--only 'proxy ↔ one API; …']`
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installEngine, run } from '../containers/engine.mjs';
import { buildImages, HOST, makeEnvironment, NETWORK } from '../containers/environment.mjs';

const { values } = parseArgs({ options: { only: { type: 'string' }, seconds: { type: 'string', default: '60' } } });
const SECONDS = Number(values.seconds);
const say = (line) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);
const impossible = installEngine();
if (impossible) {
  console.error(`no engine for containers can be had here: ${impossible}`);
  process.exit(0);
}
await buildImages(say);
const environment = await makeEnvironment({ ALLOW_PRIVATE_RECEIVERS: 'true' });
const { compose, cli, client, engine, inspect, inNetworkOf } = environment;

const INSIDE = 'transfer-service_inside';
const [postgres, temporal, api, worker] = ['postgres', 'temporal', 'api-1', 'worker'];
/** Containers that this drill has started. */
const own = { standby: 'drill-standby', api: 'drill-api', worker: 'drill-worker' };
const workers = () => environment.containersOf(worker);
const one = (service) => environment.containersOf(service)[0];
const addressOf = (container) => inspect(container, `{{(index .NetworkSettings.Networks "${INSIDE}").IPAddress}}`);
const firewall = (container, ...rule) => inNetworkOf(container, 'iptables', ...rule);
/** Drops the packets between containers and a service. @param chains both directions, or one */
function cut(containers, service, chains = ['INPUT', 'OUTPUT']) {
  const address = addressOf(one(service));
  for (const container of containers)
    for (const chain of chains) {
      const peer = chain === 'INPUT' ? '--source' : '--destination';
      firewall(container, '--append', chain, peer, address, '--jump', 'DROP');
    }
  return () => {
    for (const container of containers) firewall(container, '--flush');
  };
}

/** What the receivers of client A do with packets. */
function receivers(...rule) {
  const inClient = (...args) => run('nsenter', [`--net=/run/netns/${client.namespace}`, 'iptables', ...args]);
  inClient('--append', 'INPUT', '--protocol', 'tcp', '--dport', '8001', ...rule);
  return () => inClient('--flush');
}

async function slowAndLossy(container) {
  const program = fileURLToPath(new URL('./delay.py', import.meta.url));
  const command = ['--target', inspect(container, '{{.State.Pid}}'), '--net', 'python3', program, '100'];
  const delay = spawn('nsenter', command, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(delay.stdout, 'data');
  const lose = ['--match', 'statistic', '--mode', 'random', '--probability', '0.05', '--jump', 'DROP'];
  for (const [chain, port] of [
    ['INPUT', '--dport'],
    ['OUTPUT', '--sport'],
  ])
    for (const action of [lose, ['--jump', 'NFQUEUE', '--queue-num', '0']])
      firewall(container, '--append', chain, '--protocol', 'tcp', port, '5432', ...action);
  return () => {
    firewall(container, '--flush');
    delay.kill();
  };
}

/** Another address for a container, as when it is made anew. Packets to the old one get no response. */
function move(container, address) {
  engine.docker('network', 'disconnect', INSIDE, container);
  engine.docker('network', 'connect', '--alias', postgres, '--ip', address, INSIDE, container);
}

const psql = (container, statement) =>
  engine.docker('exec', container, 'psql', '--username=transfer_service', '--tuples-only', '--command', statement);

/** A standby that has every acknowledged commit. */
async function startStandby() {
  const primary = one(postgres);
  const hba = "echo 'host replication all all scram-sha-256' >> $PGDATA/pg_hba.conf";
  engine.docker('exec', primary, 'sh', '-c', hba);
  psql(primary, 'select pg_reload_conf()');
  const password = engine.docker('exec', primary, 'printenv', 'POSTGRES_PASSWORD');
  const copy = `pg_basebackup --host=postgres --username=transfer_service --pgdata="$PGDATA" --write-recovery-conf`;
  engine.docker(
    ...['run', '--detach', '--name', own.standby, '--network', INSIDE, '--user', 'postgres'],
    ...['--tmpfs', '/run/postgresql', '--env', `PGPASSWORD=${password}`, '--entrypoint', 'sh', 'postgres:18'],
    ...['-c', `${copy} --checkpoint=fast && exec postgres -c max_connections=300`],
  );
  // Not the copy, which streams too.
  const states = "select state from pg_stat_replication where application_name = 'walreceiver'";
  const streams = () => psql(primary, states).includes('streaming');
  for (const end = Date.now() + 60_000; !streams(); await sleep(500))
    if (Date.now() > end) throw new Error(`no standby: ${engine.docker('logs', own.standby)}`);
  psql(primary, "alter system set synchronous_standby_names = '*'");
  psql(primary, 'select pg_reload_conf()');
}

/** The primary's machine vanishes, and its standby gets its name and address. */
function failOver() {
  const primary = one(postgres);
  const address = addressOf(primary);
  engine.docker('network', 'disconnect', INSIDE, primary);
  psql(own.standby, 'select pg_promote()');
  move(own.standby, address);
  return () => {};
}

/** Replaces an API and a worker by ones whose clock is 30 s ahead. */
async function setClocksAhead() {
  const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
  const clock = { LD_PRELOAD: '/faketime.so', FAKETIME: '+30s', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  const start = (name, service, ...options) =>
    compose(
      ...['run', '--detach', '--no-deps', '--name', name, '--volume', `${library}:/faketime.so:ro`, ...options],
      ...Object.entries(clock).flatMap(([variable, value]) => ['--env', `${variable}=${value}`]),
      service,
    );
  const [regular] = workers();
  const [regularApi] = environment.containersOf(api);
  engine.docker('stop', regular, regularApi);
  start(own.worker, worker);
  start(own.api, api, '--use-aliases');
  await untilHealthy(own.api, own.worker);
  return async () => {
    engine.docker('stop', own.api, own.worker);
    engine.docker('start', regular, regularApi);
    await untilHealthy(regular, regularApi);
  };
}

async function untilHealthy(...containers) {
  const isHealthy = (container) => inspect(container, '{{.State.Health.Status}}') === 'healthy';
  for (const end = Date.now() + 60_000; !containers.every(isHealthy); await sleep(500))
    if (Date.now() > end) throw new Error('a container does not become healthy');
}

const [NOBODY, A, BOTH] = [[], ['A'], ['A', 'B']];
/** Each begins and returns what ends it. Its path is cut for the deliveries of `cuts`. */
const FAULTS = {
  'one worker ↔ Postgres': { cuts: BOTH, begin: () => cut([one(worker)], postgres) },
  'one worker → Postgres': { cuts: BOTH, begin: () => cut([one(worker)], postgres, ['OUTPUT']) },
  'one worker ← Postgres': { cuts: BOTH, begin: () => cut([one(worker)], postgres, ['INPUT']) },
  'both workers ↔ Postgres': { cuts: BOTH, begin: () => cut(workers(), postgres) },
  'both workers ↔ Temporal': { cuts: NOBODY, begin: () => cut(workers(), temporal) },
  'one API ↔ Postgres': { cuts: NOBODY, begin: () => cut([one(api)], postgres) },
  'proxy ↔ one API': { cuts: NOBODY, begin: () => cut([one('proxy')], api) },
  'Postgres: 200 ms and 5 % loss': { cuts: BOTH, begin: () => slowAndLossy(one(postgres)) },
  'receivers of A: dropped': { cuts: A, begin: () => receivers('--jump', 'DROP') },
  'receivers of A: dropped after the connection': {
    cuts: A,
    begin: () => receivers('!', '--syn', '--match', 'length', '--length', '100:', '--jump', 'DROP'),
  },
  'receivers of A: RST': {
    cuts: A,
    begin: () => receivers('--jump', 'REJECT', '--reject-with', 'tcp-reset'),
  },
  'receivers of A: ICMP unreachable': { cuts: A, begin: () => receivers('--jump', 'REJECT') },
  'clocks of one API and one worker 30 s ahead': { cuts: NOBODY, begin: setClocksAhead },
  "Postgres' name gets another address": {
    cuts: BOTH,
    begin() {
      move(one(postgres), '172.30.0.20');
      return () => {};
    },
  },
  'Postgres fails over, its address moves': { cuts: BOTH, prepare: startStandby, begin: failOver },
};

try {
  say('starting the environment');
  compose('up', '--detach', '--build');
  await client.call('trust', compose('exec', '--no-TTY', 'proxy', 'cat', '/data/caddy/pki/authorities/local/root.crt'));
  const clients = [];
  for (const [name, port] of [
    ['A', 8001],
    ['B', 8002],
  ])
    clients.push(await register(name, port));
  const only = values.only?.split('; ');
  const faults = Object.entries(FAULTS).filter(([name]) => !only || only.includes(name));
  const heads = ['fault', 'acknowledged', 'lost', 'late', 'twice', '5xx and unanswered', 'slowest response'];
  console.log(row([...heads, 'first deliveries: p50, p99', 'p99 of those not cut']));
  console.log(row(Array(heads.length + 2).fill('---')));
  let failed = false;
  for (const [name, fault] of faults) failed = !(await drill(name, fault, clients)) || failed;
  process.exitCode = failed ? 1 : 0;
} finally {
  for (const name of Object.values(own)) spawnSync('docker', ['rm', '--force', '--volumes', name], { env: engine.env });
  await environment.stop();
}

function row(columns) {
  return `| ${columns.join(' | ')} |`;
}

/** A client of the API with a receiver. */
async function register(name, port) {
  await client.call('listen', port);
  const { client_id, client_secret } = cli('clients', 'create', '--name', name);
  const { body: granted } = await client.call('call', {
    method: 'POST',
    path: '/oauth/token',
    body: { grant_type: 'client_credentials', client_id, client_secret, audience: `https://${HOST}` },
  });
  const { status, text } = await client.call('call', {
    method: 'POST',
    path: '/webhook-endpoints',
    token: granted.access_token,
    body: { url: `http://${NETWORK.client}:${port}/`, secret: 'whsec_0123456789abcdef' },
  });
  if (status !== 201) throw new Error(text);
  return { name, port, token: granted.access_token };
}

/** Runs a fault and prints its row. @returns whether it went as it must */
async function drill(name, { cuts, prepare, begin }, clients) {
  say(name);
  await prepare?.();
  for (const { name, token, port } of clients) await client.call('startLoad', { name, token, port, rate: 10 });
  await sleep(5_000);
  const end = await begin();
  const begun = Date.now();
  await sleep(SECONDS * 1_000);
  await end();
  await sleep(15_000);
  const stop = (patience) => Promise.all(clients.map(({ name }) => client.call('stopLoad', name, patience)));
  const reports = await stop(45_000);
  const deaf = await deafWorkers();
  const isCut = (_, index) => cuts.includes(clients[index].name);
  // After a fault of its receivers, A's deliveries follow the ladder, five minutes later.
  const judged = cuts === A ? reports.filter((...report) => !isCut(...report)) : reports;
  const late = judged.flatMap(({ missing }) => missing).length;
  // What is late still arrives: by its lease, by the ladder or by the watchdog.
  const final = await stop(400_000);
  const sum = (of) => final.reduce((total, report) => total + of(report), 0);
  const lost = sum(({ missing }) => missing.length);
  const failures = final.flatMap((report) => report.failures);
  const counts = Object.entries(Object.groupBy(failures, ({ kind }) => kind));
  const kinds = counts.map(([kind, { length }]) => `${length} × ${kind}`).join(', ') || 'none';
  const early = failures.filter(({ at }) => at < begun + 10_000).length;
  const p99 = (reports) => Math.max(...reports.map(({ delays }) => delays.p99));
  const uncut = final.filter((...report) => !isCut(...report));
  console.log(
    row([
      ...[name, sum(({ acknowledged }) => acknowledged), lost, late, sum(({ twice }) => twice)],
      failures.length > 0 ? `${kinds} (${early} in the first 10 s)` : kinds,
      `${Math.max(...final.map(({ slowest }) => slowest))} ms`,
      `${Math.max(...final.map(({ delays }) => delays.p50))}, ${p99(final)} ms`,
      uncut.length > 0 ? `${p99(uncut)} ms` : '–',
    ]),
  );
  const ahead = Math.max(...final.map((report) => report.ahead));
  if (ahead > 1) say(`${name}: signatures were up to ${ahead} s ahead`);
  if (deaf > 0) say(`${name}: ${deaf} workers hear no notifications`);
  const isSlow = uncut.length > 0 && p99(uncut) > 1_000;
  return lost + late + deaf === 0 && !isSlow && !failures.some(({ kind }) => kind.startsWith('500'));
}

/** How many workers do not hear notifications, once they have had 15 s to find out. */
async function deafWorkers() {
  const isUp = (container) =>
    /^webhook_listener_up(?:\{[^}]*\})? 1$/m.test(
      inNetworkOf(
        container,
        process.execPath,
        '-e',
        "fetch('http://127.0.0.1:9464/metrics').then((r) => r.text()).then(console.log)",
      ),
    );
  return workers().filter((container) => !isUp(container)).length;
}
