// Docker's engine for `npm run test:containers` and the partition drills, on a machine that has none. It needs root, apt
// and Linux. The engine's state and its images stay in the cache.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const cacheDir = join(
  process.env.CACHE_DIR || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service'),
  'containers',
);
const PACKAGES = ['docker.io', 'iptables', 'debootstrap', 'dnsmasq-base', 'iproute2', 'faketime'];
const PROGRAMS = ['dockerd', 'docker', 'iptables', 'debootstrap', 'dnsmasq', 'ip', 'nsenter', 'faketime'];
const PLUGINS = ['docker-compose', 'docker-buildx'];
/** Of the name server, in the engine's network namespace. */
const NAME_SERVER = '10.254.254.53';
/** Names nothing outside. Without it, gRPC waits for a TXT record until it times out. */
const NO_NAMES = ['--no-daemon', '--no-resolv', '--no-hosts', '--address=/#/', `--listen-address=${NAME_SERVER}`];

/** Installs what the engine needs. @returns why there can be no engine here; undefined: there can */
export function installEngine() {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs root on Linux';
  const missing = () => PROGRAMS.filter((program) => spawnSync(program, ['--version']).error);
  if (missing().length > 0) {
    if (spawnSync('apt-get', ['--version']).error) return `there is no ${missing().join(', ')}, and no apt-get`;
    apt(['update']);
    apt(['install', '--yes', '--no-install-recommends', ...PACKAGES]);
  }
  const left = missing();
  if (left.length > 0) return `apt has no package with ${left.join(', ')}`;
  return installPlugins() ? undefined : `apt has no ${PLUGINS.join(' or ')}`;
}

/** `docker compose` and `docker buildx` from Debian unstable, since Debian 12 has neither. */
function installPlugins() {
  const plugins = join(cacheDir, 'cli/cli-plugins');
  if (PLUGINS.every((name) => existsSync(join(plugins, name)))) return true;
  mkdirSync(plugins, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'plugins-'));
  try {
    mkdirSync(join(folder, 'lists'));
    writeFileSync(join(folder, 'sources.list'), `deb ${debianMirror()} unstable main\n`);
    const own = {
      'Dir::State::lists': join(folder, 'lists'),
      'Dir::Etc::sourcelist': join(folder, 'sources.list'),
      'Dir::Etc::sourceparts': '/dev/null',
      'Dir::Cache::pkgcache': '',
      'Dir::Cache::srcpkgcache': '',
      'APT::Sandbox::User': 'root',
      'Acquire::Check-Valid-Until': 'false',
    };
    const options = Object.entries(own).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
    apt([...options, 'update']);
    apt([...options, 'download', ...PLUGINS], folder);
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb')))
      execFileSync('dpkg-deb', ['-x', file, 'root'], { cwd: folder });
    for (const name of PLUGINS)
      copyFileSync(join(folder, 'root/usr/libexec/docker/cli-plugins', name), join(plugins, name));
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Where this machine gets Debian's packages. */
export function debianMirror() {
  const known = execFileSync('apt-get', ['indextargets', '--format', '$(SITE) $(REPO_URI)'], { encoding: 'utf8' });
  const uri = known
    .split('\n')
    .map((line) => line.split(' ').at(-1))
    .find((line) => /\/debian\/?$/.test(line ?? ''));
  if (!uri) throw new Error("no source of Debian's packages is configured");
  return uri;
}

function apt(args, cwd) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['--quiet', '--quiet', ...args], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
}

/**
 * Starts the engine.
 * @param network `host`: containers share this machine's network, to build images. Otherwise the name of a network
 * namespace that is made for the engine, its bridges, its firewall and its published ports.
 * @returns `docker(...args)` runs the CLI and returns its output; `env` leads a CLI to the engine; `inside` is the
 * beginning of a command that runs in the engine's network; `restart()`; `stop()`
 */
export async function startEngine(network) {
  mkdirSync(cacheDir, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'engine-'));
  const socket = `unix://${join(folder, 'docker.sock')}`;
  const isHost = network === 'host';
  const inside = isHost ? [] : ['nsenter', `--net=/run/netns/${network}`];
  const env = { ...process.env, DOCKER_HOST: socket, DOCKER_CONFIG: join(cacheDir, 'cli'), DOCKER_BUILDKIT: '0' };
  const begin = (name, args) => {
    const log = openSync(join(folder, `${name}.log`), 'a');
    const [program, ...rest] = [...inside, name, ...args];
    return spawn(program, rest, { stdio: ['ignore', log, log] });
  };
  const end = async (child) => {
    child?.kill('SIGTERM');
    if (child?.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  let engine;
  const start = async () => {
    engine = begin('dockerd', [
      ...['--data-root', join(cacheDir, 'data'), '--exec-root', join(folder, 'exec')],
      ...['--pidfile', join(folder, 'pid'), '--host', socket],
      ...(isHost ? ['--bridge=none', '--iptables=false'] : ['--dns', NAME_SERVER]),
    ]);
    for (let tries = 0; spawnSync('docker', ['info'], { env }).status !== 0; tries++) {
      if (engine.exitCode !== null || tries === 120) throw new Error(run('tail', [join(folder, 'dockerd.log')]));
      await sleep(500);
    }
  };
  let names;
  const stop = async () => {
    await end(engine);
    await end(names);
    if (!isHost) spawnSync('ip', ['netns', 'delete', network]);
    // With the host's network, the engine leaves this mount.
    spawnSync('umount', [join(folder, 'exec/netns/default')]);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    if (!isHost) {
      run('ip', ['netns', 'add', network]);
      run('ip', ['-n', network, 'link', 'set', 'lo', 'up']);
      run('ip', ['-n', network, 'address', 'add', `${NAME_SERVER}/32`, 'dev', 'lo']);
      names = begin('dnsmasq', NO_NAMES);
    }
    await start();
    // Of a run that was ended. The engine serves nothing else.
    const left = run('docker', ['ps', '--all', '--quiet'], { env }).split('\n').filter(Boolean);
    if (left.length > 0) run('docker', ['rm', '--force', '--volumes', ...left], { env });
  } catch (error) {
    await stop();
    throw error;
  }
  const restart = async () => {
    await end(engine);
    await start();
  };
  return { docker: (...args) => run('docker', args, { env }), env, inside, restart, stop };
}

/** Runs a program. @returns its standard output @throws with its standard error */
export function run(program, args, options = {}) {
  const limits = { encoding: 'utf8', maxBuffer: 100_000_000 };
  const { status, stdout, stderr, error } = spawnSync(program, args, { ...limits, ...options });
  if (error) throw error;
  if (status === 0) return stdout.trim();
  throw new Error(`${program} ${args.join(' ')}: exit ${status}\n${stdout.slice(-2_000)}${stderr.slice(-4_000)}`);
}
