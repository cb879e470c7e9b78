// `npm run check:deploy`: checks that docker build, docker compose and Kubernetes accept the Dockerfile,
// docker-compose.yml and deploy/kubernetes. It uses their own libraries and schemas, including those of the examples'
// custom resources. It also runs hadolint on the Dockerfile and caddy on the Caddyfile if they are installed. The
// programs are built with Go once and kept in the cache.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAMS = {
  kustomize: 'sigs.k8s.io/kustomize/kustomize/v5@v5.6.0',
  'kubectl-validate': 'sigs.k8s.io/kubectl-validate@v0.0.4',
};
/** The Kubernetes version whose schemas kubectl-validate contains. */
const KUBERNETES_VERSIONS = ['1.27', '1.30'];
const CUSTOM_RESOURCES = {
  'github.com/prometheus-operator/prometheus-operator@v0.85.0':
    'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
  'github.com/traefik/traefik/v3@v3.5.3': 'docs/content/reference/dynamic-configuration/traefik.io_middlewares.yaml',
};

const cacheDir =
  process.env.CACHE_DIR || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service');
const programs = join(cacheDir, 'check-deploy');
mkdirSync(programs, { recursive: true });
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
    ...{ MASTER_KEY: 'x', POSTGRES_PASSWORD: 'x', ALLOWED_NETWORKS: '' },
  });
}

function checkKubernetes() {
  for (const [name, module] of Object.entries(PROGRAMS)) {
    if (!existsSync(join(programs, name))) go(['install', module]);
  }
  const schemas = join(folder, 'schemas');
  mkdirSync(schemas);
  for (const [module, path] of Object.entries(CUSTOM_RESOURCES)) {
    const { Dir } = JSON.parse(go(['mod', 'download', '-json', module]));
    copyFileSync(join(Dir, path), join(schemas, path.split('/').at(-1)));
  }
  const built = join(folder, 'deploy-kubernetes.yaml');
  writeFileSync(built, execFileSync(join(programs, 'kustomize'), ['build', 'deploy/kubernetes']));
  return KUBERNETES_VERSIONS.map((version) => {
    const args = [built, 'deploy/kubernetes/examples', '--version', version, '--local-crds', schemas];
    return check(`deploy/kubernetes, Kubernetes ${version}`, 'kubectl-validate', args);
  }).reduce((sum, failed) => sum + failed);
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

function go(args, cwd = folder) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  return execFileSync('go', args, { cwd, stdio, encoding: 'utf8', env: { ...process.env, GOBIN: programs } });
}
