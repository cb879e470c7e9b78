#!/usr/bin/env node
// The commands of docs/operations/deployment.md, "Kubernetes", as written, against a real API server with its controllers.
// There is no kubelet: this program says of each pod that it runs. Then the same again, which must change nothing, an
// upgrade with other values, and values that must be rejected. Needs Linux, root and Go, which builds the programs once
// (an hour). `node scripts/drills/kubernetes.mjs`
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { go, programs, provideProgram } from '../check-deploy/programs.mjs';

const VERSION = '1.35.4';
const PROGRAMS = ['kube-apiserver', 'kube-controller-manager', 'kubectl'];
const NAMESPACE = 'transfer-service';

/** Values that must be rejected, and a part of the reason. */
const WRONG = [
  ['--set=settings.RATE_LIMITS=50', 'RATE_LIMITS'],
  ['--set=image.digest=latest', 'digest'],
  ['--set=api.autoscaling.minReplicas=0', 'minReplicas'],
  ['--set=api.replicas=3', 'replicas'],
  ['--set=network.egress.postgres.port=70000', 'port'],
  ['--set=network.egress.postgres.to[0].ipBlock.cidr=10.0.0.0/40', 'cidr'],
  ['--set=settings.BLOCKED_RECEIVERS=203.0.113.0/33', 'valid CIDR'],
  ['--set=api.resources.limits.memory=lots', 'quantities'],
];

if (process.platform !== 'linux' || process.getuid() !== 0 || spawnSync('go', ['version']).error) {
  console.error('no API server can be had here: it needs root on Linux, and Go');
  process.exit(0);
}
if (spawnSync('etcd', ['--version']).error)
  execFileSync('apt-get', ['--quiet', '--quiet', 'install', '--yes', '--no-install-recommends', 'etcd-server']);
const bin = buildKubernetes();
const folder = mkdtempSync(join(tmpdir(), 'kubernetes-'));
const children = [];
const env = {
  ...process.env,
  KUBECONFIG: join(folder, 'config'),
  PATH: `${bin}:${programs}:${process.env.PATH}`,
  BASH_ENV: '',
};
provideProgram('helm');
try {
  await startCluster();
  await drill();
} finally {
  for (const child of children.reverse()) await ended(child);
  rmSync(folder, { recursive: true, force: true });
}

/** Kubernetes names its own libraries by folders that its module does not have: their published versions replace them. */
function buildKubernetes() {
  const folder = join(programs, `kubernetes-${VERSION}`);
  if (PROGRAMS.every((name) => existsSync(join(folder, name)))) return folder;
  mkdirSync(folder, { recursive: true });
  const { GoMod } = JSON.parse(go(['mod', 'download', '-json', `k8s.io/kubernetes@v${VERSION}`]));
  const libraries = `v0.${VERSION.slice(2)}`;
  const module = readFileSync(GoMod, 'utf8')
    .replace('module k8s.io/kubernetes', 'module api-server')
    .replaceAll(/=> \.\/staging\/src\/(\S+)/g, `=> $1 ${libraries}`)
    .replaceAll(/(k8s\.io\/\S+) v0\.0\.0\s/g, `$1 ${libraries}\n`);
  writeFileSync(join(folder, 'go.mod'), `${module}\nrequire k8s.io/kubernetes v${VERSION}\n`);
  const imports = PROGRAMS.map((name) => `import _ "k8s.io/kubernetes/cmd/${name}"\n`);
  writeFileSync(join(folder, 'tools.go'), `//go:build tools\n\npackage tools\n\n${imports.join('')}`);
  go(['mod', 'tidy', '-e'], folder);
  const [major, minor] = VERSION.split('.');
  const version = Object.entries({ gitVersion: `v${VERSION}`, gitMajor: major, gitMinor: minor })
    .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
    .join(' ');
  for (const name of PROGRAMS) {
    console.error(`building ${name} ${VERSION}`);
    go(['build', `-ldflags=-s -w ${version}`, '-o', join(folder, name), `k8s.io/kubernetes/cmd/${name}`], folder);
  }
  return folder;
}

async function startCluster() {
  const [clients, peers, port] = [await freePort(), await freePort(), await freePort()];
  const url = (of) => `http://127.0.0.1:${of}`;
  start('etcd', [
    ...[
      '--data-dir',
      join(folder, 'etcd'),
      '--listen-client-urls',
      url(clients),
      '--advertise-client-urls',
      url(clients),
    ],
    ...['--listen-peer-urls', url(peers), '--initial-advertise-peer-urls', url(peers)],
    ...['--initial-cluster', `default=${url(peers)}`],
  ]);
  const key = join(folder, 'accounts.key');
  execFileSync('openssl', ['genrsa', '-out', key, '2048'], { stdio: 'ignore' });
  writeFileSync(join(folder, 'tokens.csv'), 'token,admin,admin,"system:masters"\n');
  start('kube-apiserver', [
    ...['--etcd-servers', url(clients), '--secure-port', port, '--bind-address', '127.0.0.1'],
    ...['--cert-dir', join(folder, 'certificates'), '--token-auth-file', join(folder, 'tokens.csv')],
    ...['--authorization-mode', 'RBAC', '--service-cluster-ip-range', '10.0.0.0/24'],
    ...['--service-account-issuer', 'https://kubernetes', '--service-account-key-file', key],
    ...['--service-account-signing-key-file', key],
  ]);
  const cluster = { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
  writeFileSync(
    env.KUBECONFIG,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'drill' },
      clusters: [{ name: 'drill', cluster }],
      users: [{ name: 'admin', user: { token: 'token' } }],
      contexts: [{ name: 'drill', context: { cluster: 'drill', user: 'admin' } }],
    }),
  );
  const isReady = () => spawnSync('kubectl', ['get', '--raw=/readyz'], { env }).status === 0;
  for (const end = Date.now() + 300_000; !isReady(); await sleep(500))
    if (Date.now() > end) throw new Error(`the API server is not ready: ${folder}`);
  start('kube-controller-manager', [
    ...['--kubeconfig', env.KUBECONFIG, '--service-account-private-key-file', key, '--leader-elect=false'],
    ...['--secure-port', '0', '--use-service-account-credentials=false'],
  ]);
}

async function drill() {
  const blocks = readFileSync('docs/operations/deployment.md', 'utf8')
    .split(/^## /m)
    .find((part) => part.startsWith('Kubernetes'));
  const [first, helm, kustomize] = [...blocks.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, commands]) => commands);
  const values = join(folder, 'production.yaml');
  writeFileSync(values, 'settings: { BASE_URL: "https://api.example.org" }\n');
  const withHelm = helm.replace('production.yaml', values);
  await check('the namespace and its secrets', () => sh(first.replaceAll('master-key', join(folder, 'master-key'))));
  // Every pod must keep to the strictest standard, or it is not made.
  await sh(`kubectl label namespace ${NAMESPACE} pod-security.kubernetes.io/enforce=restricted`);
  const stopKubelet = playKubelet();

  await check('helm, first', () => sh(withHelm));
  const before = await state();
  await check('helm, again', () => sh(withHelm));
  await check('… changes nothing', async () => same(before, await state()));
  const upgrade = `${withHelm.trim()} --set=image.tag=1.0.1 --set=settings.RATE_LIMIT=50 --set=api.autoscaling.minReplicas=3`;
  await check('helm, other values', () => sh(upgrade));
  await check('… rolls the pods', async () => {
    const pods = JSON.parse(
      await sh('kubectl get pods --selector=app.kubernetes.io/component=api --output=json'),
    ).items;
    const tags = pods.map(({ spec }) => spec.containers[0].image.split(':')[1]);
    same([...new Set(tags)], ['1.0.1']);
  });
  await check('helm, back', () => sh(withHelm));
  for (const [wrong, reason] of WRONG)
    await check(`rejected: ${wrong}`, () =>
      sh(`${withHelm.trim()} ${wrong}`).then(
        () => Promise.reject(new Error('was accepted')),
        ({ stderr }) => stderr.includes(reason) || Promise.reject(new Error(stderr)),
      ),
    );
  await check('… and nothing has changed', async () => same(before, await state()));
  await check('helm uninstall', () => sh('helm uninstall transfer-service --wait; kubectl delete job --all'));

  await check('kustomize, first', () => sh(kustomize));
  const applied = await state();
  await check('kustomize, again', () => sh(kustomize));
  await check('… changes nothing', async () => same(applied, await state()));
  await check('server-side validation', () =>
    sh(
      'kubectl apply --server-side --force-conflicts --validate=strict --dry-run=server --kustomize deploy/kubernetes',
    ),
  );
  await stopKubelet();
}

async function check(what, work) {
  try {
    await work();
    console.log(`ok      ${what}`);
  } catch (error) {
    console.log(`FAILED  ${what}: ${error.stderr || error.message}`);
    process.exitCode = 1;
  }
}

/** Runs a command of the documents. @throws with its `stderr` */
async function sh(commands) {
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', commands], { env });
  return stdout;
}

/** What is installed, without what controllers write. */
async function state() {
  const kinds = 'deployments,services,configmaps,horizontalpodautoscalers,poddisruptionbudgets,networkpolicies';
  const { items } = JSON.parse(await sh(`kubectl get ${kinds} --output=json`));
  return items.map(({ kind, metadata: { name, labels }, spec, data }) => {
    return { kind, name, labels, data, spec: { ...spec, replicas: undefined } };
  });
}

function same(before, after) {
  if (JSON.stringify(before) !== JSON.stringify(after))
    throw new Error(`${JSON.stringify(before)}\n  now ${JSON.stringify(after)}`);
}

/** Every pod of a Deployment runs, and every pod of a Job has succeeded. @returns what ends it */
function playKubelet() {
  let ends = false;
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
  const play = async () => {
    while (!ends) {
      const pods = JSON.parse(await sh(`kubectl get pods --namespace=${NAMESPACE} --output=json`)).items;
      for (const { metadata, spec } of pods.filter(({ status }) => status.phase === 'Pending')) {
        const isJob = spec.restartPolicy !== 'Always';
        const status = isJob ? { phase: 'Succeeded' } : { phase: 'Running', conditions };
        const patch = ['--subresource=status', '--type=merge', `--patch=${JSON.stringify({ status })}`];
        spawnSync('kubectl', ['patch', 'pod', metadata.name, `--namespace=${NAMESPACE}`, ...patch], { env });
      }
      await sleep(1_000);
    }
  };
  const played = play().catch((error) => console.error(error));
  return () => {
    ends = true;
    return played;
  };
}

function start(name, args) {
  const log = openSync(join(folder, `${name}.log`), 'a');
  children.push(spawn(name, args, { env, stdio: ['ignore', log, log] }));
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await new Promise((resolve) => child.once('exit', resolve));
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
