#!/usr/bin/env node
// Cuts between the machines of docker-compose.yml, each container a machine, with 20 status changes a second by two
// clients. The container's own firewall drops the packets. Prints a row for each cut. The exit code is 1 if an
// acknowledged change is lost or has not arrived 60 s after the cut is healed, if a request got a 500, or if a worker hears
// no notifications afterwards. Needs root on Linux. `node scripts/drills/partitions.mjs [--only 'one worker…,…']`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

const [postgres, temporal, api, worker] = ['postgres', 'temporal', 'api-1', 'worker'];
const one = (service) => environment.containersOf(service)[0];
const firewall = (container, ...rule) => inNetworkOf(container, 'iptables', ...rule);
const addressOf = (service) =>
  inspect(one(service), '{{(index .NetworkSettings.Networks "transfer-service_inside").IPAddress}}');
const heal = (containers) => () => {
  for (const container of containers) firewall(container, '--flush');
};
/** Drops the packets between containers and a service. @param chains both directions, or one */
function cut(containers, service, chains = ['INPUT', 'OUTPUT']) {
  const address = addressOf(service);
  for (const container of containers)
    for (const chain of chains)
      firewall(
        container,
        '--append',
        chain,
        chain === 'INPUT' ? '--source' : '--destination',
        address,
        '--jump',
        'DROP',
      );
  return heal(containers);
}

/** Each begins a fault and returns what ends it. */
const FAULTS = {
  'one worker ↔ Postgres': () => cut([one(worker)], postgres),
  'one worker → Postgres': () => cut([one(worker)], postgres, ['OUTPUT']),
  'one worker ← Postgres': () => cut([one(worker)], postgres, ['INPUT']),
  'both workers ↔ Postgres': () => cut(environment.containersOf(worker), postgres),
  'both workers ↔ Temporal': () => cut(environment.containersOf(worker), temporal),
  'one API ↔ Postgres': () => cut([one(api)], postgres),
  'proxy ↔ one API': () => cut([one('proxy')], api),
  'Postgres: 200 ms and 5 % loss': async () => {
    const target = one(postgres);
    const pid = inspect(target, '{{.State.Pid}}');
    const program = fileURLToPath(new URL('./delay.py', import.meta.url));
    const delay = spawn('nsenter', ['--target', pid, '--net', 'python3', program, '100'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(delay.stdout, 'data');
    const port = { INPUT: '--dport', OUTPUT: '--sport' };
    for (const chain of ['INPUT', 'OUTPUT']) {
      const packets = ['--append', chain, '--protocol', 'tcp', port[chain], '5432'];
      firewall(
        target,
        ...packets,
        ...['--match', 'statistic', '--mode', 'random', '--probability', '0.05'],
        '--jump',
        'DROP',
      );
      firewall(target, ...packets, '--jump', 'NFQUEUE', '--queue-num', '0');
    }
    return () => {
      firewall(target, '--flush');
      delay.kill();
    };
  },
  'receivers of one client: packets dropped': () => {
    const inClient = (...rule) => run('nsenter', [`--net=/run/netns/${client.namespace}`, 'iptables', ...rule]);
    inClient(...['--append', 'INPUT', '--protocol', 'tcp', '--dport', '8001', '--jump', 'DROP']);
    return () => inClient('--flush');
  },
  'receivers of one client: refused': () => {
    const inClient = (...rule) => run('nsenter', [`--net=/run/netns/${client.namespace}`, 'iptables', ...rule]);
    inClient(
      ...[
        '--append',
        'INPUT',
        '--protocol',
        'tcp',
        '--dport',
        '8001',
        '--jump',
        'REJECT',
        '--reject-with',
        'tcp-reset',
      ],
    );
    return () => inClient('--flush');
  },
  'Postgres gets another address': () => {
    const target = one(postgres);
    const network = 'transfer-service_inside';
    engine.docker('network', 'disconnect', network, target);
    const last = addresses.shift();
    return () => engine.docker('network', 'connect', '--alias', postgres, '--ip', last, network, target);
  },
};
const addresses = ['172.30.0.20', '172.30.0.21'];

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
  const only = values.only?.split(',');
  let failed = false;
  console.log(
    '| cut for a minute | acknowledged | lost | late | twice | 5xx and unanswered | slowest response | first deliveries: p50, p99, max | of the other client |\n|---|---|---|---|---|---|---|---|---|',
  );
  for (const [name, begin] of Object.entries(FAULTS).filter(([name]) => !only || only.includes(name)))
    failed = !(await drill(name, begin, clients)) || failed;
  process.exitCode = failed ? 1 : 0;
} finally {
  await environment.stop();
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

/** @returns whether it went as it must */
async function drill(name, begin, clients) {
  say(name);
  for (const { name, token, port } of clients) await client.call('startLoad', { name, token, port, rate: 10 });
  await sleep(5_000);
  const end = await begin();
  await sleep(SECONDS * 1_000);
  await end();
  await sleep(15_000);
  const stopping = clients.map(({ name }) => client.call('stopLoad', name, 45_000));
  const reports = await Promise.all(stopping);
  // After a fault of its own receivers, a client's deliveries follow the ladder, five minutes later.
  const judged = name.startsWith('receivers') ? reports.slice(1) : reports;
  const late = judged.flatMap(({ missing }) => missing).length;
  // What is late still arrives: by its lease, by the ladder or by the watchdog.
  const final = reports.every(({ missing }) => missing.length === 0)
    ? reports
    : await Promise.all(clients.map(({ name }) => client.call('stopLoad', name, 400_000)));
  const [a, b] = final;
  const sum = (of) => final.reduce((total, report) => total + of(report), 0);
  const responses = {};
  for (const report of final)
    for (const [kind, count] of Object.entries(report.responses)) responses[kind] = (responses[kind] ?? 0) + count;
  const lost = sum(({ missing }) => missing.length);
  const begins = (from, to) =>
    sum(({ failures }) => failures.filter((at) => at >= 5_000 + from && at < 5_000 + to).length);
  const kinds = Object.entries(responses).map(([kind, count]) => `${count} × ${kind}`);
  const when =
    kinds.length > 0 ? ` (${begins(0, 10_000)} in the first 10 s, ${begins(10_000, 60_000)} in the next 50)` : '';
  const deaf = await deafWorkers();
  const shown = ({ delays: { p50, p99, max } }) => `${p50}, ${p99}, ${max} ms`;
  const slowest = Math.max(...final.map(({ slowest }) => slowest));
  const columns = [name, sum(({ acknowledged }) => acknowledged), lost, late, sum(({ twice }) => twice)];
  console.log(
    `| ${[...columns, (kinds.join(', ') || 'none') + when, `${slowest} ms`, shown(a), shown(b)].join(' | ')} |`,
  );
  if (deaf > 0) console.log(`${deaf} workers hear no notifications`);
  return lost === 0 && late === 0 && deaf === 0 && !Object.keys(responses).some((kind) => kind.startsWith('500'));
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
  return environment.containersOf(worker).filter((container) => !isUp(container)).length;
}
