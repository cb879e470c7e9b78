// `npm run client:types`: writes the types of clients/typescript from the service's OpenAPI document.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { clientDocument } from './client/document.mjs';
import { installTooling } from './client/tooling.mjs';

installTooling();
const { generateTypes } = await import('../clients/tooling/generate-types.mjs');
writeFileSync(
  fileURLToPath(new URL('../clients/typescript/src/generated/openapi.ts', import.meta.url)),
  await generateTypes(clientDocument()),
);
