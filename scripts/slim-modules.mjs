// The Dockerfile's last step on node_modules: removes what the service never loads on this machine. These are programs
// for other platforms, engines for other databases, source maps and type declarations.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';

const require = createRequire(import.meta.url);
const modules = join(import.meta.dirname, '../node_modules');
const remove = (path) => rmSync(path, { recursive: true, force: true });

// Temporal's native part for five platforms, and its sources.
const bridge = dirname(require.resolve('@temporalio/core-bridge/package.json'));
const { getPrebuiltPath } = require('@temporalio/core-bridge/common');
const prebuilt = getPrebuiltPath();
if (!prebuilt?.startsWith(join(bridge, 'releases') + sep)) {
  throw new Error(`@temporalio/core-bridge has no program for this platform: ${prebuilt}`);
}
const [platform] = prebuilt.slice(join(bridge, 'releases').length + 1).split(sep);
for (const name of readdirSync(join(bridge, 'releases'))) {
  if (name !== platform) remove(join(bridge, 'releases', name));
}
for (const name of ['bridge-macros', 'sdk-core', 'src', 'ts', 'Cargo.toml', 'Cargo.lock']) remove(join(bridge, name));

// Prisma's query compilers. The generated client (src/platform/database/generated) loads one of them.
const runtime = join(modules, '@prisma/client/runtime');
const compilers = readdirSync(runtime).filter((name) => name.startsWith('query_compiler_'));
const client = readFileSync(join(modules, '../dist/src/platform/database/generated/internal/class.js'), 'utf8');
const [loaded] = /query_compiler_\w+_bg\.postgresql\./.exec(client) ?? [];
const kept = compilers.filter((name) => loaded !== undefined && name.startsWith(loaded));
if (kept.length === 0)
  throw new Error(`${runtime} does not have the query compiler of the generated client: ${loaded}`);
for (const name of compilers) if (!kept.includes(name)) remove(join(runtime, name));

for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
  if (entry.isFile() && /\.(map|d\.[cm]?ts)$/.test(entry.name)) remove(join(entry.parentPath, entry.name));
}
