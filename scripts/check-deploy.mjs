// `npm run check:deploy`: checks that docker build, docker compose, Helm and Kubernetes accept the Dockerfile,
// docker-compose.yml, deploy/chart and deploy/kubernetes. It uses their own libraries and schemas, including those of the
// examples' custom resources. It also runs hadolint on the Dockerfile and caddy on the Caddyfile if they are installed.
// The programs are built with Go once and kept in the cache.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { go, programs, provideProgram } from './check-deploy/programs.mjs';

/** The releases of Kubernetes whose schemas are checked: the oldest that the chart accepts, and the newest ones. */
const BUILT_IN_VERSIONS = ['1.27', '1.30'];
const RELEASES = ['v1.34.4', 'v1.35.4', 'v1.36.3'];
const CUSTOM_RESOURCES = {
  'github.com/prometheus-operator/prometheus-operator@v0.85.0':
    'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
  'github.com/traefik/traefik/v3@v3.5.3': 'docs/content/reference/dynamic-configuration/traefik.io_middlewares.yaml',
};

const folder = mkdtempSync(join(tmpdir(), 'check-deploy-'));
try {
  process.exitCode = checkDockerfile() + checkCompose() + checkKubernetes() + checkTheRest() === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function checkDockerfile() {
  buildOurs('check-dockerfile');
  return check('Dockerfile', 'check-dockerfile', ['Dockerfile']);
}

function checkCompose() {
  buildOurs('check-compose');
  return check('docker-compose.yml', 'check-compose', ['docker-compose.yml'], {
    ...{ ENVIRONMENT: 'sandbox', BASE_URL: 'https://api.example.com', PUBLIC_HOST: 'api.example.com' },
    ...{ MASTER_KEY: 'x', POSTGRES_PASSWORD: 'x', DATABASE_OWNER_PASSWORD: 'x', DATABASE_RUNTIME_PASSWORD: 'x' },
    ...{ TEMPORAL_DATABASE_PASSWORD: 'x', ALLOWED_NETWORKS: '' },
  });
}

function checkKubernetes() {
  const customResources = join(folder, 'custom-resources');
  mkdirSync(customResources);
  for (const [module, path] of Object.entries(CUSTOM_RESOURCES)) {
    copyFileSync(join(download(module), path), join(customResources, path.split('/').at(-1)));
  }
  const manifests = [
    write('kustomize.yaml', execFileSync(provideProgram('kustomize'), ['build', 'deploy/kubernetes'])),
    // A Helm that is built with `go install` takes Kubernetes 1.20 as the version of an absent cluster.
    write(
      'helm.yaml',
      execFileSync(provideProgram('helm'), ['template', 'transfer-service', 'deploy/chart', '--kube-version=1.36']),
    ),
    'deploy/kubernetes/examples',
  ];
  provideProgram('kubectl-validate');
  const versions = [
    ...BUILT_IN_VERSIONS.map((version) => [version, ['--version', version]]),
    ...RELEASES.map((release) => [release, ['--version', '', '--local-schemas', schemasOf(release)]]),
  ];
  return (
    check('deploy/kubernetes is the output of deploy/chart', process.execPath, ['scripts/chart.mjs', '--check']) +
    versions
      .map(([version, args]) => {
        const all = [...manifests, '--local-crds', customResources, ...args];
        return check(`deploy/chart and deploy/kubernetes, Kubernetes ${version}`, 'kubectl-validate', all);
      })
      .reduce((sum, failed) => sum + failed)
  );
}

/** The folder with the schemas of a release of Kubernetes, as kubectl-validate reads them. */
function schemasOf(release) {
  const specifications = join(download(`k8s.io/kubernetes@${release}`), 'api/openapi-spec/v3');
  const target = join(folder, release);
  for (const name of readdirSync(specifications)) {
    // Such as apis__apps__v1_openapi.json. The others are lists of versions.
    const [, path] = /^((?:api|apis__[^_]+)__v[^_]+)_openapi\.json$/.exec(name) ?? [];
    if (!path) continue;
    const copy = `${join(target, ...path.split('__'))}.json`;
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(join(specifications, name), copy);
  }
  return target;
}

/** Downloads a Go module. @returns its folder */
function download(module) {
  return JSON.parse(go(['mod', 'download', '-json', module])).Dir;
}

function write(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function checkTheRest() {
  const caddy = ['validate', '--config', 'deploy/Caddyfile'];
  return (
    checkWhereInstalled('Dockerfile, by hadolint', 'hadolint', ['Dockerfile']) +
    checkWhereInstalled('deploy/Caddyfile', 'caddy', caddy, { PUBLIC_HOST: 'api.example.com' })
  );
}

/** Runs a program that takes long to install, if it is installed. */
function checkWhereInstalled(what, program, args, env) {
  if (spawnSync(program, ['--version']).error) return say(what, `not checked, ${program} is not installed`, 0);
  return check(what, program, args, env);
}

/** @returns 0, or 1 if the check fails */
function check(what, program, args, env = {}) {
  const own = join(programs, program);
  const { status, stdout, stderr } = spawnSync(existsSync(own) ? own : program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return status === 0 ? say(what, 'ok', 0) : say(what, `\n${stdout}${stderr}`, 1);
}

function say(what, result, failed) {
  process.stdout.write(`${what}: ${result}\n`);
  return failed;
}

function buildOurs(name) {
  go(['build', '-o', join(programs, name), '.'], join('scripts', name));
}
