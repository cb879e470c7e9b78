// `npm run check:deploy`: runs Helm, kubeconform, docker compose, hadolint and Caddy on the files of deploy, as far as
// they are installed.
import { spawnSync } from 'node:child_process';

const env = { PUBLIC_HOST: 'api.example.com', BASE_URL: 'https://api.example.com', ENVIRONMENT: 'sandbox' };
for (const secret of ['MASTER_KEY', 'POSTGRES_PASSWORD', 'DATABASE_OWNER_PASSWORD', 'DATABASE_RUNTIME_PASSWORD'])
  env[secret] = 'x';
Object.assign(env, { TEMPORAL_DATABASE_PASSWORD: 'x', ALLOWED_NETWORKS: '' });

const run = (program, args, input) =>
  spawnSync(program, args, { encoding: 'utf8', input, env: { ...process.env, ...env } });

check('deploy/chart', ['helm', 'lint', '--strict', 'deploy/chart']);
const manifests = run('helm', ['template', 'transfer-service', 'deploy/chart', '--kube-version=1.36']).stdout;
if (manifests)
  for (const version of ['1.27.0', '1.36.0'])
    check(`Kubernetes ${version}`, ['kubeconform', '-strict', `-kubernetes-version=${version}`], manifests);
check('docker-compose.yml', ['docker', 'compose', 'config', '--quiet']);
check('Dockerfile', ['hadolint', 'Dockerfile']);
check('deploy/Caddyfile', ['caddy', 'validate', '--config', 'deploy/Caddyfile']);

function check(what, [program, ...args], input) {
  const isMissing = run(program, program === 'docker' ? ['compose', 'version'] : ['--help']).status !== 0;
  const { status, stdout, stderr } = isMissing ? {} : run(program, args, input);
  if (status) process.exitCode = 1;
  console.log(`${what}: ${isMissing ? `not checked, ${program} is not installed` : status ? stdout + stderr : 'ok'}`);
}
