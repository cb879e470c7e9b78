// Links the CLI into node_modules/.bin. npm does that for dependencies and workspaces, but not for the package itself:
// without the link, `npx transfer-service` installs the whole clone into npm's cache before it starts.
import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const link = path('../node_modules/.bin/transfer-service');
chmodSync(path('../dist/src/cli.js'), 0o755);
rmSync(link, { force: true });
symlinkSync('../../dist/src/cli.js', link);
