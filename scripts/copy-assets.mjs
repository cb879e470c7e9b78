// Copies into dist/ what is not compiled: the files of the console, and the vectors of signatures.
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
cpSync(path('../src/console/assets'), path('../dist/src/console/assets'), { recursive: true });
cpSync(path('../clients/vectors/signatures.json'), path('../dist/signature-vectors.json'));
