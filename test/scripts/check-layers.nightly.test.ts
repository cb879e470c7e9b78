import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Runs the check on a checkout that has these files. */
function check(files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'layers-'));
  folders.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const { status, stderr } = spawnSync(process.execPath, ['scripts/check-layers.mjs', root], { encoding: 'utf8' });
  return { status, faults: stderr.trim().split('\n').filter(Boolean) };
}

test.each([
  ['an import', "import { route } from '../http/routes.js';"],
  ['a type import', "import type { Route } from '../http/routes.js';"],
  ['a re-export', "export * from '../http/routes.js';"],
  ['a dynamic import', "export const load = () => import('../http/routes.js');"],
  ['a type that names a module', "export type Route = import('../http/routes.js').Route;"],
])('fails for %s that runs up', (_, text) => {
  const { status, faults } = check({ 'src/http/routes.ts': 'export type Route = string;', 'src/reports/a.ts': text });
  expect(faults).toEqual(['src/reports/a.ts imports src/http/routes.ts: src/reports is below src/http']);
  expect(status).toBe(1);
});

test('fails for an import between folders of one layer, unless the list has an arrow', () => {
  const { status, faults } = check({
    'src/reports/a.ts': "import type { B } from '../checks/b.js';",
    'src/checks/b.ts': 'export type B = string;',
    'src/console/c.ts': "import type { D } from '../http/d.js';",
    'src/http/d.ts': 'export type D = string;',
  });
  expect(faults).toEqual(['src/reports/a.ts imports src/checks/b.ts: src/reports is beside src/checks']);
  expect(status).toBe(1);
});

test('fails when an entry file loads the embedded stack statically, and when another folder loads it at all', () => {
  const { faults } = check({
    'src/local/stack.ts': 'export const start = 1;',
    'src/main.ts': "import { start } from './local/stack.js';",
    'src/api.ts': "export const load = () => import('./local/stack.js');",
  });
  expect(faults.sort()).toEqual([
    'src/api.ts imports src/local/stack.ts: only src/main.ts and src/cli may load src/local',
    'src/main.ts imports src/local/stack.ts: load src/local with import()',
  ]);
});

test('fails for a comment that names a missing file, escapes a backtick or is too wide', () => {
  const text = `/** Its rights are in rights.ts, not in a.ts. */\n// \\\`b\\\` is here\n// ${'a'.repeat(118)}\nexport const a = "c.ts";\n`;
  const { faults } = check({ 'src/reports/a.ts': text });
  expect(faults).toEqual([
    'src/reports/a.ts:1: the comment has the missing file rights.ts',
    'src/reports/a.ts:2: the comment has an escaped backtick',
    'src/reports/a.ts:3: the comment has more than 120 columns',
  ]);
});
