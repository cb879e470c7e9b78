// Copies the API explorer of /docs into dist/, compressed: the package's 200 MB of dependencies, which the built file
// does not need, stay out of production. Skipped if nothing has changed.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const packages = fileURLToPath(new URL('../node_modules/@scalar/', import.meta.url));
const target = fileURLToPath(new URL('../dist/explorer/', import.meta.url));
const stamp = join(target, 'version');
const { version } = JSON.parse(readFileSync(join(packages, 'api-reference/package.json'), 'utf8'));

if (!(existsSync(stamp) && readFileSync(stamp, 'utf8') === version)) {
  const script = readFileSync(join(packages, 'api-reference/dist/browser/standalone.js'));
  // Quality 9 is 4 % larger than 11 and takes two seconds instead of twenty.
  const brotli = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: script.length };
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'scalar.js.br'), brotliCompressSync(script, { params: brotli }));
  writeFileSync(join(target, 'scalar.js.gz'), gzipSync(script, { level: 9 }));
  // The package has no licence file of its own. The other packages of its repository have the one of the repository.
  copyFileSync(join(packages, 'types/LICENSE'), join(target, 'LICENSE'));
  writeFileSync(stamp, version);
}
