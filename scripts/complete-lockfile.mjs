// `node scripts/complete-lockfile.mjs`: run it after `npm install` has added a package. npm omits from
// package-lock.json the packages that its registry does not have (a mirror may lack the builds for other platforms),
// and then `npm ci` rejects the file everywhere. This script writes those entries from their parents' entries, which
// have exact versions and names that contain the platform.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = fileURLToPath(new URL('../package-lock.json', import.meta.url));
const lock = JSON.parse(readFileSync(path, 'utf8'));
const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'x64'];

const added = [];
for (const parent of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    if (key in lock.packages) continue;
    const words = name.split(/[/-]/);
    const os = SYSTEMS.find((system) => words.includes(system));
    const cpu = PROCESSORS.find((processor) => words.includes(processor));
    if (!os || !cpu || !/^\d+\.\d+\.\d+$/.test(version)) {
      console.error(`${name}@${version}: not the build of a package for one platform; fix package-lock.json manually`);
      process.exit(1);
    }
    const libc = words.some((word) => word.startsWith('musl'))
      ? ['musl']
      : words.includes('gnu')
        ? ['glibc']
        : undefined;
    lock.packages[key] = {
      version,
      cpu: [cpu],
      ...(parent.dev && { dev: true }),
      ...(libc && { libc }),
      optional: true,
      os: [os],
    };
    added.push(name);
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en')));
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
console.log(added.length === 0 ? 'package-lock.json is complete' : `added ${added.join(', ')}`);
