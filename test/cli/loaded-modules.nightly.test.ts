import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runCli } from '../support/cli.js';
import { openFolder } from '../support/folder.js';

const folder = openFolder();

/** The packages that a command loads. */
async function loadedBy(line: string): Promise<string[]> {
  const file = join(folder, 'loaded.json');
  await runCli(line.split(' '), {
    ...{ LOCAL_DIR: folder, LOADED_MODULES: file, DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' },
    NODE_OPTIONS: '--import=./test/support/record-modules.mjs',
  });
  const urls = JSON.parse(readFileSync(file, 'utf8')) as string[];
  return [...new Set(urls.flatMap((url) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []))].sort();
}

test.each(['--help', '--version', 'client', 'verify --secret s --header t=1,v0=a --body package.json'])(
  '%s loads no database and no SDK',
  async (line) => expect(await loadedBy(line)).toEqual(['commander', 'uuid']),
);

test.each(['clients list', 'deliveries list', 'audit list'])(
  '%s loads Postgres and Prisma, but not Temporal, HTTP, tokens or traces',
  async (line) => {
    const packages = await loadedBy(line);
    expect(packages).toEqual(expect.arrayContaining(['@prisma/client', 'pg']));
    const needless = /^(@temporalio|@opentelemetry|@grpc)\/|^(jose|koa|undici|pino|prom-client)$/;
    expect(packages.filter((name) => needless.test(name))).toEqual([]);
  },
);
