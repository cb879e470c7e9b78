// `npm run release`: checks that the version is ready, runs the gates, writes all that is published into dist/release,
// and publishes it. With --dry-run it publishes nothing; with --skip-gates it runs no tests.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';
import { readReleases } from './releases.mjs';

const OUT = 'dist/release';
const GATES = ['check', 'test', 'test:nightly'];

const { values: options } = parseArgs({
  options: { 'dry-run': { type: 'boolean' }, 'skip-gates': { type: 'boolean' } },
});
const isRehearsal = options['dry-run'] === true;
const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8'));
const image = `transfer-service:${version}`;

const read = (command, ...args) => execFileSync(command, args, { encoding: 'utf8' }).trim();
const run = (command, ...args) => execFileSync(command, args, { stdio: 'inherit' });
const step = (text) => console.log(`\n=== ${text}`);

step(`transfer-service ${version}: is it ready?`);
const faults = readiness();
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);

if (options['skip-gates']) step(`not run: ${GATES.join(', ')} (--skip-gates)`);
else for (const gate of GATES) run('npm', 'run', gate);

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
run('npm', 'run', 'build');

step('client');
run('npm', 'pack', '--silent', '--workspace=clients/typescript', `--pack-destination=${OUT}`);

step('chart');
// As `helm package` makes it, but with the same bytes each time: the commit's files at the commit's time.
const chart = join(process.cwd(), OUT, `transfer-service-${version}.tgz`);
execFileSync('git', ['archive', '--prefix=transfer-service/', `--output=${chart}`, 'HEAD'], { cwd: 'deploy/chart' });

step('SBOM');
writeFileSync(`${OUT}/transfer-service-${version}.cdx.json`, `${JSON.stringify(packagesOfTheService(), null, 2)}\n`);

step('image');
const hasEngine = spawnSync('docker', ['version'], { stdio: 'ignore' }).status === 0;
if (hasEngine) {
  run('docker', 'build', `--tag=${image}`, '.');
  const saved = `${OUT}/transfer-service-${version}-image.tar`;
  run('docker', 'save', `--output=${saved}`, image);
  await pipeline(createReadStream(saved), createGzip(), createWriteStream(`${saved}.gz`));
  rmSync(saved);
} else console.log('not built: no container engine');

copyFileSync(`docs/releases/${version}.md`, `${OUT}/README.md`);
const sums = readdirSync(OUT)
  .sort()
  .map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(OUT, name)))
        .digest('hex')}  ${name}\n`,
  );
writeFileSync(`${OUT}/SHA256SUMS`, sums.join(''));

step(`written into ${OUT}`);
for (const name of readdirSync(OUT)) console.log(`${String(statSync(join(OUT, name)).size).padStart(12)}  ${name}`);

if (isRehearsal) step('nothing was published (--dry-run)');
else publish();

/** The packages in the image, in CycloneDX. */
function packagesOfTheService() {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const isKept = ({ dev, optional, devOptional, peer, link }) => !(dev || optional || devOptional || peer || link);
  const kept = new Set(
    Object.entries(packages)
      .filter(([, locked]) => isKept(locked))
      .map(([path, locked]) => `${locked.name ?? path.split('node_modules/').at(-1)}@${locked.version}`),
  );
  // `--omit=dev` also omits what both kinds of packages need.
  const { serialNumber: _, ...sbom } = JSON.parse(
    read('npm', 'sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'),
  );
  sbom.components = sbom.components.filter((component) => kept.has(component['bom-ref']));
  sbom.dependencies = sbom.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }));
  // npm names our own packages by their folders.
  for (const component of [sbom.metadata.component, ...sbom.components]) {
    component.name = component['bom-ref'].replace(/@[^@]*$/, '');
  }
  sbom.metadata.timestamp = new Date(read('git', 'log', '-1', '--format=%cI')).toISOString();
  return sbom;
}

/** @returns what keeps this commit from being a release */
function readiness() {
  const found = [];
  const need = (isRight, fault) => isRight || found.push(fault);
  need(read('git', 'status', '--porcelain') === '', 'the work tree has changes; commit them');
  need(
    spawnSync(process.execPath, ['scripts/version.mjs', '--check']).status === 0,
    'versions differ; run npm run version',
  );
  const row = readReleases().find((release) => release.version === version);
  need(row, `docs/releases/README.md has no row for ${version}`);
  need(existsSync(`docs/releases/${version}.md`), `docs/releases/${version}.md is missing`);
  need(existsSync(`test/histories/${version}`), `test/histories/${version} is missing; run npm run histories`);
  for (const path of ['CHANGELOG.md', 'clients/typescript/CHANGELOG.md']) {
    const [, unreleased = '', latest = ''] =
      /^## Unreleased\n(.*?)^## ([^\n]*)/ms.exec(readFileSync(path, 'utf8')) ?? [];
    need(unreleased.trim() === '', `${path}: what is under Unreleased belongs to ${version}`);
    const isDated = latest.replace(/\(.*\)|[[\]]/g, '') === `${version} - ${row?.date}`;
    need(isDated, `${path}: the latest version is not ${version} with the date of docs/releases/README.md`);
  }
  if (isRehearsal) return found;
  need(read('git', 'tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`), `HEAD has no tag v${version}`);
  need(!options['skip-gates'], '--skip-gates is for rehearsals');
  need(!/OWNER/.test(repository.url), 'fill in repository in package.json and clients/typescript/package.json');
  return found;
}

/**
 * Publishes the client, and where IMAGE_REPOSITORY (such as ghcr.io/OWNER/transfer-service) says so, the image with its
 * SBOM and provenance, the chart, and a GitHub release that keeps the files. Image and sums are signed by the identity of
 * the workflow: npm and cosign get it from CI, so there is no long-lived key or token.
 */
function publish() {
  run('npm', 'publish', `./${OUT}/transfer-service-client-${version}.tgz`);
  const { IMAGE_REPOSITORY: repository } = process.env;
  if (!hasEngine || !repository) return step('nothing else is published: IMAGE_REPOSITORY or the engine is missing');
  const metadata = 'dist/image.json';
  // The engine's own builder makes no attestations.
  run('docker', 'buildx', 'create', '--use', '--driver=docker-container');
  const attested = ['--sbom=true', '--provenance=mode=max', `--metadata-file=${metadata}`];
  run('docker', 'buildx', 'build', ...attested, `--tag=${repository}:${version}`, '--push', '.');
  const { 'containerimage.digest': digest } = JSON.parse(readFileSync(metadata, 'utf8'));
  run('cosign', 'sign', '--yes', `${repository}@${digest}`);
  run('helm', 'push', chart, `oci://${repository.replace(/[^/]*$/, 'charts')}`);
  run('cosign', 'sign-blob', '--yes', `--bundle=${OUT}/SHA256SUMS.sigstore.json`, `${OUT}/SHA256SUMS`);
  const assets = readdirSync(OUT).map((name) => join(OUT, name));
  run('gh', 'release', 'create', `v${version}`, ...assets, '--verify-tag', `--notes-file=${OUT}/README.md`);
}
