// Copies the API explorer of /docs (Swagger UI) into dist/, compressed. Skipped if nothing has changed.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const source = fileURLToPath(new URL('../node_modules/swagger-ui-dist/', import.meta.url));
const target = fileURLToPath(new URL('../dist/explorer/', import.meta.url));
const stamp = join(target, 'version');
const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));

if (!(existsSync(stamp) && readFileSync(stamp, 'utf8') === version)) {
  mkdirSync(target, { recursive: true });
  for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css']) {
    writeFileSync(join(target, `${name}.gz`), gzipSync(readFileSync(join(source, name)), { level: 9 }));
  }
  for (const name of ['LICENSE', 'NOTICE']) copyFileSync(join(source, name), join(target, name));
  writeFileSync(stamp, version);
}
