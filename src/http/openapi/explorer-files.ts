import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Compressed } from '../static-document.js';

/** The folder that `npm run build` makes, also where the sources run untranslated, as in tests. */
const FOLDER = join(dirname(createRequire(import.meta.url).resolve('transfer-service/package.json')), 'dist/explorer');

/** Scalar's script, compressed by scripts/copy-explorer.mjs: 1.0 MB in brotli, 1.3 MB in gzip. */
export function explorerFiles(): Compressed {
  return { br: readFileSync(join(FOLDER, 'scalar.js.br')), gzip: readFileSync(join(FOLDER, 'scalar.js.gz')) };
}
