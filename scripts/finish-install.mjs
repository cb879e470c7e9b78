// The last step of `npm ci` (package.json, `prepare`).
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isSupportedNode } from '../dist/src/process/cautions.js';

// The C headers of Node.js: 68 MB, which the package `node` installs beside the program. Nothing here compiles against
// them. Without install scripts, as in the image, there is only the machine's Node.js.
const packages = join(import.meta.dirname, '../node_modules/node/node_modules');
const installed = existsSync(packages) ? readdirSync(packages).filter((name) => name.startsWith('node-')) : [];
for (const name of installed) rmSync(join(packages, name, 'include'), { recursive: true, force: true });

// npm runs on the machine's Node.js and warns if a package does not support it. Its scripts run on the package `node`.
const [, version] = / node\/v(\S+)/.exec(process.env.npm_config_user_agent ?? '') ?? [];
const here = process.versions.node;
if (version && !isSupportedNode(version) && isSupportedNode(here)) {
  console.log(
    `\nAll is well: the EBADENGINE warnings are about Node ${version}, on which only npm runs.\nThe service, its npm scripts and npx use Node ${here}, which is now installed here.`,
  );
}
