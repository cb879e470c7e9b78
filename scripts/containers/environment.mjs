// The environment of docker-compose.yml in containers, as deployment.md says, and a client in a network of its own.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir, run, startEngine } from './engine.mjs';
import { provideImages } from './images.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '../..');
/** Caddy makes certificates of its own for names below `.internal`. */
export const HOST = 'api.internal';
/** The client's network: the engine's end, and the client's, where its receivers listen. */
export const NETWORK = { engine: '10.200.0.1', client: '10.200.0.2' };

/** Builds the image of the last commit, with a network, so that later builds find npm's and Debian's packages. */
export async function buildImages(say) {
  const engine = await startEngine('host');
  const folder = clone();
  try {
    await provideImages(engine.docker, say);
    say('building the image of the service');
    engine.docker('build', '--network=host', '--tag', 'transfer-service', folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await engine.stop();
  }
}

function clone() {
  const folder = mkdtempSync(join(tmpdir(), 'environment-'));
  run('git', ['clone', '--quiet', ROOT, folder]);
  return folder;
}

/**
 * A clone with a filled-in .env, an engine in a network of its own, and a client beside it.
 * @param settings lines for .env
 */
export async function makeEnvironment(settings = {}) {
  const network = `containers-${process.pid}`;
  const folder = clone();
  writeFileSync(join(folder, '.env'), fillIn(readFileSync(join(folder, '.env.example'), 'utf8'), settings));
  const engine = await startEngine(network);
  const compose = (...args) => run('docker', ['compose', ...args], { cwd: folder, env: engine.env });
  // An earlier run that was ended.
  compose('--profile', 'cli', 'down', '--volumes', '--timeout', '0');
  const client = await startClient(network);
  const inspect = (container, format) => engine.docker('inspect', '--format', format, container);
  return {
    ...{ folder, engine, compose, client, inspect },
    /** The ids of a service's containers. */
    containersOf: (service) => compose('ps', '--quiet', service).split('\n'),
    cli: (...args) => JSON.parse(compose('run', '--rm', '--no-TTY', 'cli', ...args, '--json')),
    /** Runs a program in a container's network. */
    inNetworkOf: (container, ...command) =>
      run('nsenter', ['--target', inspect(container, '{{.State.Pid}}'), '--net', ...command]),
    async stop() {
      await client.stop();
      compose('--profile', 'cli', 'down', '--volumes', '--timeout', '1');
      await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Fills in .env.example as it says. */
function fillIn(example, settings) {
  const values = { BASE_URL: `https://${HOST}`, PUBLIC_HOST: HOST, ...settings };
  const filled = example.replaceAll(/^([A-Z_]+)=(.*)$/gm, (line, name, value) => {
    if (name === 'MASTER_KEY') return `${name}=${randomBytes(32).toString('base64')}`;
    if (name.endsWith('PASSWORD')) return `${name}=${randomBytes(24).toString('hex')}`;
    return name in values ? `${name}=${values[name]}` : line || value;
  });
  const more = Object.entries(values).filter(([name]) => !new RegExp(`^${name}=`, 'm').test(filled));
  return `${filled}\n${more.map(([name, value]) => `${name}=${value}\n`).join('')}`;
}

/** Starts client.mjs in a network namespace that reaches the engine's. @returns `call(operation, …)` and `stop()` */
async function startClient(network) {
  const own = `${network}-client`;
  const ip = (...args) => execFileSync('ip', args);
  ip('netns', 'add', own);
  ip('-n', own, 'link', 'set', 'lo', 'up');
  ip('-n', network, 'link', 'add', 'outside', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', own);
  ip('-n', network, 'address', 'add', `${NETWORK.engine}/24`, 'dev', 'outside');
  ip('-n', network, 'link', 'set', 'outside', 'up');
  ip('-n', own, 'address', 'add', `${NETWORK.client}/24`, 'dev', 'eth0');
  ip('-n', own, 'link', 'set', 'eth0', 'up');
  ip('-n', own, 'route', 'add', 'default', 'via', NETWORK.engine);
  const program = join(HERE, 'client.mjs');
  const child = spawn('nsenter', [`--net=/run/netns/${own}`, process.execPath, program, NETWORK.engine], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { PATH: process.env.PATH },
  });
  const calls = new Map();
  let last = 0;
  child.on('message', ({ id, result, error }) => {
    const { resolve, reject } = calls.get(id);
    calls.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  });
  return {
    namespace: own,
    call: (operation, ...args) =>
      new Promise((resolve, reject) => {
        calls.set(++last, { resolve, reject });
        child.send({ id: last, operation, args });
      }),
    async stop() {
      child.kill();
      if (child.exitCode === null && child.signalCode === null)
        await new Promise((resolve) => child.once('exit', resolve));
      ip('netns', 'delete', own);
    },
  };
}

export { cacheDir };
