// Removes the C headers of Node.js, 68 MB, which the package `node` installs beside the program and nothing here compiles
// against.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const packages = join(import.meta.dirname, '../node_modules/node/node_modules');
// Without install scripts, as in the image, there is only the machine's Node.js.
const installed = existsSync(packages) ? readdirSync(packages).filter((name) => name.startsWith('node-')) : [];
for (const name of installed) rmSync(join(packages, name, 'include'), { recursive: true, force: true });
