import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runCli } from '../support/cli.js';
import { openFolder } from '../support/folder.js';

/** Files that may load before the command is known. */
const LIGHT = /^src\/(cli\/(view\/)?|process\/|platform\/(config\/)?)?[^/]+\.js$/;
const UNREACHABLE = 'postgresql://nobody@127.0.0.1:1/none';

const folder = openFolder();

/** The packages and the project's own files that a command loads. */
async function loadedBy(args: readonly string[], env: Record<string, string> = {}) {
  const file = join(folder, 'loaded.json');
  await runCli(args, {
    ...env,
    LOCAL_DIR: folder,
    LOADED_MODULES: file,
    NODE_OPTIONS: '--import=./test/support/record-modules.mjs',
  });
  const urls = JSON.parse(readFileSync(file, 'utf8')) as string[];
  const packages = urls.flatMap((url) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  const own = urls.flatMap((url) => (url.includes('/node_modules/') ? [] : (/\/dist\/(.*)$/.exec(url)?.[1] ?? [])));
  return { packages: [...new Set(packages)].sort(), own };
}

describe.each([['--help'], ['--version'], ['client']])('%s', (line) => {
  test('loads no module of the domain, no database and no SDK', async () => {
    const { packages, own } = await loadedBy(line.split(' '));
    expect(packages).toEqual(['commander', 'uuid']);
    expect(own).toContain('src/cli/program.js');
    const others = own.filter((file) => !LIGHT.test(file) && !file.startsWith('clients/typescript/src/cli/'));
    expect(others).toEqual([]);
  });
});

test('verify loads neither the database nor the settings', async () => {
  const body = join(folder, 'body');
  writeFileSync(body, '{}');
  const { packages, own } = await loadedBy(['verify', '--secret', 's', '--header', 't=1,v0=a', '--body', body]);
  expect(own).toContain('clients/typescript/src/cli/verify.js');
  expect(packages).toEqual(['commander', 'uuid']);
});

test.each([['clients list'], ['deliveries list'], ['audit list']])(
  '%s loads Postgres and Prisma, but not Temporal, HTTP, tokens or traces',
  async (line) => {
    const { packages } = await loadedBy(line.split(' '), { DATABASE_URL: UNREACHABLE });
    expect(packages).toEqual(expect.arrayContaining(['@prisma/client', 'pg']));
    const needless = /^(@temporalio|@opentelemetry|@grpc)\/|^(jose|koa|undici|pino|prom-client)$/;
    expect(packages.filter((name) => needless.test(name))).toEqual([]);
  },
);
