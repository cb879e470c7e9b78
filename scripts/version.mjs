// Writes the version of package.json wherever it is stated: `npm version 1.2.0 --no-git-tag-version` runs this. With
// --check it writes nothing and fails if a file states another version.
import { readFileSync, writeFileSync } from 'node:fs';

/** Files with the pattern of what precedes a version in them. */
const STATED = {
  'clients/typescript/package.json': /^ {2}"version": "/gm,
  'clients/typescript/src/version.ts': /VERSION = '/g,
  'clients/csharp/TransferService.Webhooks.csproj': /<Version>/g,
  'clients/go/webhooks.go': /const Version = "/g,
  'clients/java/pom.xml': /^ {2}<version>/gm,
  'clients/php/composer.json': /"version": "/g,
  'clients/python/pyproject.toml': /^version = "/gm,
  'clients/ruby/transfer_service_webhooks.gemspec': /spec\.version = '/g,
  'deploy/chart/Chart.yaml': /^(?:version: |appVersion: ")/gm,
  Dockerfile: /image\.version="/g,
  'clients/typescript/README.md': /transfer-service-client-/g,
  'docs/guide.md': /transfer-service:webhooks:|transfer-service-client-/g,
  'docs/operations/deployment.md': /registry\.example\.com\/transfer-service:/g,
  'package-lock.json': /^(?: {2}"version": "| {6}"name": "transfer-service(?:-client)?",\n {6}"version": ")/gm,
};
const SEMVER = String.raw`\d+\.\d+\.\d+(?:-[\w.]+)?`;

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const [path, before] of Object.entries(STATED)) {
  const text = readFileSync(path, 'utf8');
  let found = 0;
  const current = text.replace(new RegExp(`(${before.source})${SEMVER}`, before.flags), (_, prefix) => {
    found++;
    return prefix + version;
  });
  if (found === 0) throw new Error(`${path} states no version`);
  if (current === text) continue;
  if (!process.argv.includes('--check')) writeFileSync(path, current);
  else {
    console.error(`${path}: another version than package.json (${version}); run node scripts/version.mjs`);
    process.exitCode = 1;
  }
}
