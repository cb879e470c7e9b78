// Stand-ins for the images that Dockerfile and docker-compose.yml name, for a machine that reaches no registry of images:
// from Debian's packages, npm and Go modules, with the official images' users, entrypoints and volumes.
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { findPrograms, SERVER_VERSION } from '../temporal-on-postgres/programs.mjs';
import { cacheDir, debianMirror, run } from './engine.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '../..');
const BASE = 'stand-in-base';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const UI = 'github.com/temporalio/ui-server/v2';
const UI_VERSION = 'v2.42.1';
const CLI = 'github.com/temporalio/cli/cmd/temporal';
/** The release that the embedded stack keeps in the cache. */
const CLI_VERSION = '1.5.1';

/** The names of the images, as the files give them. */
function names() {
  const [, node] = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
  const { services } = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true });
  const of = (name) => services[name].image.replace(/\$\{\w+:-([^}]*)\}/, '$1');
  return {
    node,
    ...{ postgres: of('postgres'), caddy: of('proxy'), 'temporal-server': of('temporal') },
    ...{ 'temporal-admin-tools': of('temporal-admin'), 'temporal-ui': of('temporal-ui') },
  };
}

/**
 * Builds the stand-ins that the engine does not have yet.
 * @param docker of an engine that was started with the network `host`
 */
export async function provideImages(docker, say) {
  const has = (name) => docker('images', '--quiet', name) !== '';
  const missing = Object.entries(names()).filter(([, name]) => !has(name));
  if (missing.length === 0) return;
  if (!has(BASE)) {
    say('making the base of the stand-in images');
    makeBase(docker);
  }
  for (const [kind, name] of missing) {
    say(`making ${name}`);
    const context = mkdtempSync(join(tmpdir(), 'stand-in-'));
    try {
      await CONTEXTS[kind]?.(context, say);
      const entrypoint = join(HERE, 'images', `${kind}.sh`);
      if (existsSync(entrypoint)) copyFileSync(entrypoint, join(context, 'entrypoint.sh'));
      const file = join(HERE, 'images', `${kind}.Dockerfile`);
      docker('build', '--network=host', '--build-arg', `BASE=${BASE}`, '--tag', name, '--file', file, context);
    } finally {
      rmSync(context, { recursive: true, force: true });
    }
  }
}

/** Debian unstable, which has Postgres 18 and a current Caddy, with the certificates that this machine trusts. */
function makeBase(docker) {
  const root = mkdtempSync(join(cacheDir, 'base-'));
  try {
    run('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'unstable', root, debianMirror()]);
    copyFileSync(CERTIFICATES, join(root, CERTIFICATES));
    // A mirror may be older than the releases' files allow.
    writeFileSync(join(root, 'etc/apt/apt.conf.d/stand-in'), 'Acquire::Check-Valid-Until "false";\n');
    const tar = join(cacheDir, 'base.tar');
    run('tar', ['--create', '--file', tar, '--directory', root, '.']);
    docker('import', '--change', `ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, tar, BASE);
    rmSync(tar);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

const MODULES = join(ROOT, 'node_modules');
/** What each image is built from, beside its Dockerfile. */
const CONTEXTS = {
  node(context) {
    copyFileSync(join(MODULES, 'node/bin/node'), join(context, 'node'));
    const npm = join(run('npm', ['root', '--global']), 'npm');
    cpSync(npm, join(context, 'npm'), { recursive: true });
  },
  async 'temporal-server'(context, say) {
    const { server } = await findPrograms(dirname(cacheDir), say, SERVER_VERSION);
    copyFileSync(server, join(context, 'temporal-server'));
  },
  async 'temporal-admin-tools'(context, say) {
    const { tools, schema } = await findPrograms(dirname(cacheDir), say, SERVER_VERSION);
    copyFileSync(join(tools, 'temporal-sql-tool'), join(context, 'temporal-sql-tool'));
    cpSync(schema, join(context, 'schema'), { recursive: true });
    const kept = join(dirname(cacheDir), `temporal-${CLI_VERSION}`, 'temporal');
    if (existsSync(kept)) copyFileSync(kept, join(context, 'temporal'));
    else go(['install', `${CLI}@v${CLI_VERSION}`], context);
  },
  'temporal-ui'(context) {
    go(['install', `${UI}/cmd/server@${UI_VERSION}`], context);
    const { Dir } = JSON.parse(go(['mod', 'download', '-json', `${UI}@${UI_VERSION}`], context));
    cpSync(join(Dir, 'config'), join(context, 'config'), { recursive: true });
    mkdirSync(join(context, 'config'), { recursive: true });
    chmodSync(join(context, 'config'), 0o755);
  },
};

const go = (args, folder) => run('go', args, { cwd: folder, env: { ...process.env, GOBIN: folder } });
