// Part of `npm run check`: migrations and histories of a release never change, and later migrations only add, so that the
// release before runs on their schema. An argument selects another checkout.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readReleases } from './releases.mjs';

const MIGRATIONS = 'prisma/migrations';

/** What breaks the release before, which reads and writes the same tables while a new one is rolled out. */
const BREAKING = [
  [/\bdrop\s+(table|column|view|type|function|schema|sequence)\b/i, 'removes what the release before uses'],
  [/\brename\b/i, 'renames what the release before uses'],
  [/\balter\s+column\s+\S+\s+(set\s+data\s+)?type\b/i, 'changes a type: add a column'],
  [/^create unique index\b/i, 'rejects rows of the release before'],
  [/\bset\s+not\s+null\b/i, 'rejects rows of the release before'],
  [/\badd\s+column\b(?![^,;]*\bdefault\b)[^,;]*\bnot\s+null\b/i, 'needs a default: the release before sets none'],
  [/\badd\s+constraint\b(?![^;]*\bnot\s+valid\b)/i, 'rejects rows of the release before, and locks the table'],
  [/\b(truncate|delete\s+from)\b/i, 'removes rows'],
];

const CHANGED_TABLE = /^(?:alter table (?:only )?|create unique index .*? on (?:only )?)([\w".]+)/i;

/** @returns each statement that does more than add, with the reason; a new table may have everything */
export function breaking(sql) {
  const made = [...sql.matchAll(/\bcreate\s+table\s+(?:if\s+not\s+exists\s+)?([\w".]+)/gi)].map(([, name]) => name);
  return sql
    .replace(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim().replace(/\s+/g, ' '))
    .filter((statement) => !made.includes(CHANGED_TABLE.exec(statement)?.[1]))
    .flatMap((statement) =>
      BREAKING.filter(([pattern]) => pattern.test(statement)).map(([, why]) => `${statement}\n    ${why}`),
    );
}

function check(root) {
  const git = (...args) => {
    const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    return status === 0 ? stdout.trim().split('\n').filter(Boolean) : undefined;
  };
  const faults = [];
  for (const { version, commit } of readReleases(root)) {
    if (!commit) continue;
    const changed = (kinds, ...paths) =>
      git('diff', '--name-only', '--no-renames', `--diff-filter=${kinds}`, commit, '--', ...paths);
    const fixed = changed('MD', MIGRATIONS, `test/histories/${version}`);
    if (!fixed) {
      console.error(`changes since ${version} not checked: this clone has no commit ${commit}`);
      continue;
    }
    for (const path of fixed) faults.push(`${path}: release ${version} has it, and never changes`);
    const added = [...changed('A', MIGRATIONS), ...git('ls-files', '--others', '--exclude-standard', MIGRATIONS)];
    for (const path of added.filter((name) => name.endsWith('.sql'))) {
      for (const fault of breaking(readFileSync(join(root, path), 'utf8'))) faults.push(`${path}: ${fault}`);
    }
  }
  for (const fault of new Set(faults)) console.error(fault);
  return faults.length === 0 ? 0 : 1;
}

if (process.argv[1] === import.meta.filename) process.exitCode = check(process.argv[2] ?? '.');
