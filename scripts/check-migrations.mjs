// Part of `npm run check`: migrations only add. Those of a release never change, and the release before runs on the
// schema of a later migration. An argument selects another checkout.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readReleases } from './releases.mjs';

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
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' });
  const migrations = () => git('ls-files', '--cached', '--others', '--exclude-standard', 'prisma/migrations');
  const faults = [];
  const released = new Set();
  for (const { version, commit } of readReleases(root)) {
    if (!commit) continue;
    try {
      git('cat-file', '-e', commit);
    } catch {
      console.error(`migrations of ${version} not checked: this clone has no commit ${commit}`);
      return 0;
    }
    for (const path of git('ls-tree', '-r', '--name-only', commit, 'prisma/migrations').trim().split('\n')) {
      released.add(path);
      const isSame =
        existsSync(join(root, path)) && readFileSync(join(root, path), 'utf8') === git('show', `${commit}:${path}`);
      if (!isSame) faults.push(`${path}: changed since release ${version}; write a new migration`);
    }
  }
  if (released.size > 0) {
    for (const path of migrations().trim().split('\n')) {
      if (!path.endsWith('.sql') || released.has(path) || !existsSync(join(root, path))) continue;
      for (const fault of breaking(readFileSync(join(root, path), 'utf8'))) faults.push(`${path}: ${fault}`);
    }
  }
  for (const fault of faults) console.error(fault);
  return faults.length === 0 ? 0 : 1;
}

if (process.argv[1] === import.meta.filename) process.exitCode = check(process.argv[2] ?? '.');
