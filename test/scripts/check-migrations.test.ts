import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

const root = mkdtempSync(join(tmpdir(), 'migrations-'));
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
    cwd: root,
    encoding: 'utf8',
  });

const INIT = 'create table clients (id uuid primary key, name text);';

function write(path: string, text: string) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
const migration = (name: string, sql: string) => write(`prisma/migrations/${name}/migration.sql`, sql);
const releases = (commit: string) =>
  write('docs/releases/README.md', `| [1.0.0](1.0.0.md) | 2026-11-26 | ${commit} |\n`);

function check() {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/check-migrations.mjs', root], { encoding: 'utf8' });
  return { status, faults: stderr.split('\n').filter((line) => /^(prisma|test)\//.test(line)) };
}

let commit: string;
beforeAll(() => {
  git('init', '--quiet');
  releases('');
  migration('1_init', INIT);
  write('test/histories/1.0.0/ladder.json', '{"events":[]}');
  git('add', '.');
  git('commit', '--quiet', '--message=Release');
  commit = git('rev-parse', 'HEAD').trim();
});
beforeEach(() => {
  git('checkout', '--quiet', '.');
  git('clean', '--quiet', '-fd');
  releases(`\`${commit}\``);
});
afterAll(() => rmSync(root, { recursive: true }));

test('a migration may change until its release has a commit, and never afterwards', () => {
  migration('1_init', INIT.replace('name', 'title'));
  expect(check()).toEqual({
    status: 1,
    faults: ['prisma/migrations/1_init/migration.sql: release 1.0.0 has it, and never changes'],
  });
  releases('');
  expect(check()).toEqual({ status: 0, faults: [] });
});

test('a later migration may add', () => {
  migration(
    '2_add',
    `alter table clients add column note text, add column rank integer not null default 0;
     create index clients_name_idx on clients (name);
     create table notes (id uuid primary key, text text not null);
     alter table notes add constraint short check (length(text) < 9);
     create unique index notes_text_idx on notes (text);
     -- drop table clients;`,
  );
  expect(check()).toEqual({ status: 0, faults: [] });
});

test.each([
  'drop table clients',
  'ALTER TABLE "clients" DROP COLUMN "name"',
  'alter table clients rename column name to title',
  'alter table clients alter column name type varchar(9)',
  'alter table clients alter column name set not null',
  'alter table clients add column note text not null',
  'alter table clients add constraint named check (name is not null)',
  'create unique index clients_name_idx on clients (name)',
  'delete from clients',
])('a later migration may not: %s', (statement) => {
  migration('2_break', `select 1;\n${statement};`);
  expect(check()).toEqual({ status: 1, faults: [`prisma/migrations/2_break/migration.sql: ${statement}`] });
});
