import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

const cacheDir =
  process.env.CACHE_DIR || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service');

/** The folder of the programs that `npm run check:deploy` and `npm run chart` build with Go, once. */
export const programs = join(cacheDir, 'check-deploy');

/** Modules that `go install` accepts. */
const MODULES = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  kustomize: 'sigs.k8s.io/kustomize/kustomize/v5@v5.6.0',
  'kubectl-validate': 'sigs.k8s.io/kubectl-validate@v0.0.4',
};

/** The path of an installed program: on PATH, or in the cache; undefined if it is in neither. */
export function findProgram(name) {
  const cached = join(programs, name);
  if (existsSync(cached)) return cached;
  return spawnSync(name, ['--help']).error ? undefined : name;
}

/** The path of a program, built with Go if it is not installed. */
export function provideProgram(name) {
  const found = findProgram(name);
  if (found) return found;
  go(['install', MODULES[name]]);
  return join(programs, name);
}

export function go(args, cwd = tmpdir()) {
  mkdirSync(programs, { recursive: true });
  const stdio = ['ignore', 'pipe', 'inherit'];
  return execFileSync('go', args, { cwd, stdio, encoding: 'utf8', env: { ...process.env, GOBIN: programs } });
}
