// Copies the files of the console that are not compiled beside the compiled ones.
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
cpSync(path('../src/console/assets'), path('../dist/src/console/assets'), { recursive: true });
