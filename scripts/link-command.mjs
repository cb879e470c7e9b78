// Links the CLI into node_modules/.bin, where `npx transfer-service` finds it. package.json must not have a `bin` of that
// name: npx would not use the link, and would install the whole clone into the cache of npm.
import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const link = path('../node_modules/.bin/transfer-service');
chmodSync(path('../dist/src/cli.js'), 0o755);
rmSync(link, { force: true });
symlinkSync('../../dist/src/cli.js', link);
