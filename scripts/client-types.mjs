// `npm run client:types`: writes the types of clients/typescript from the service's OpenAPI document.
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { clientDocument } from './client/document.mjs';

const TOOLING = fileURLToPath(new URL('../clients/tooling/', import.meta.url));
const TYPES = fileURLToPath(new URL('../clients/typescript/src/generated/openapi.ts', import.meta.url));

if (!existsSync(`${TOOLING}node_modules`)) {
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: TOOLING, stdio: 'inherit' });
}
const { generateTypes } = await import('../clients/tooling/generate-types.mjs');
writeFileSync(TYPES, await generateTypes(clientDocument()));
