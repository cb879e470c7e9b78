import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createCli } from '../../src/cli/program.js';

const root = join(import.meta.dirname, '../..');
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'clients/typescript/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const read = (document: string) => readFileSync(join(root, document), 'utf8');

test('the tables that are generated from the code are up to date', () => {
  const { stderr, status } = spawnSync(process.execPath, ['scripts/tables.mjs', '--check'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect([stderr, status]).toEqual(['', 0]);
});

test('every link has an existing target', () => {
  const anchors = (markdown: string) =>
    [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
  const dead = documents.flatMap((document) =>
    [...read(document).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
      .filter(([, path = '', anchor]) => {
        const target = path === '' ? document : join(dirname(document), path);
        return !existsSync(join(root, target)) || (anchor !== undefined && !anchors(read(target)).includes(anchor));
      })
      .map(([link]) => `${document}: ${link}`),
  );
  expect(dead).toEqual([]);
});

test('lines of prose have at most 120 columns; tables, code and URLs may have more', () => {
  const wide = documents.flatMap((document) =>
    withoutCode(read(document))
      .split('\n')
      .filter((line) => line.length > 120 && !line.startsWith('|') && !/^\S*https?:\S+$/.test(line.trim()))
      .map((line) => `${document}: ${line}`),
  );
  expect(wide).toEqual([]);
});

test('the ideas of the core are at most 25, a line each, and name every file of src/delivery', () => {
  const [, section = ''] = /^## The ideas of the core\n(.*?)^## /ms.exec(read('docs/architecture.md')) ?? [];
  const entries = section.match(/^\d+\. .*$/gm) ?? [];
  expect(entries.length).toBeLessThanOrEqual(25);
  for (const entry of entries) expect(entry).toMatch(/^\d+\. \*\*.+\*\* \(.+\): .+\.$/);
  const files = readdirSync(join(root, 'src/delivery'), { recursive: true, encoding: 'utf8' });
  const unnamed = files.filter((file) => file.endsWith('.ts') && !section.includes(`\`${file}\``));
  expect(unnamed).toEqual([]);
});

test('JSON in the documents is JSON, and shell code is valid', () => {
  for (const document of documents) {
    for (const [, language = '', code = ''] of read(document).matchAll(/^ *```(json|sh)\n(.*?)^ *```/gms)) {
      if (language === 'json') JSON.parse(code);
      else
        expect([document, spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' }).stderr]).toEqual([document, '']);
    }
  }
});

/** The text without its blocks of code. */
function withoutCode(markdown: string): string {
  return markdown.replace(/^ *```.*?^ *```/gms, '');
}

test('every command in the documents exists', async () => {
  const named = documents.flatMap((document) =>
    [...read(document).matchAll(/npx transfer-service ([a-z]+)(?: ([a-z]+(?:-[a-z]+)*)\b)?/g)].map(([, ...words]) =>
      words.filter((word) => word !== undefined),
    ),
  );
  const role = () => Promise.reject(new Error('no role is started here'));
  const { commands } = await createCli({ start: role, api: role, worker: role }, () => true);
  const isKnown = ([name, command]: string[]) => {
    const group = commands.find((one) => one.name() === name);
    return group && (!command || group.commands.length === 0 || group.commands.some((one) => one.name() === command));
  };
  expect(named.filter((words) => !isKnown(words))).toEqual([]);
});

test('every npm script in the documents exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = documents.flatMap((document) =>
    [...read(document).matchAll(/npm (?:run (?:--silent )?([\w:]+)|(start|test)\b)/g)].map(
      ([, script, short = '']) => script ?? short,
    ),
  );
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

test('git ignores the secrets that the first deliveries write', () => {
  const files = ['credentials.json', 'webhook-secret'];
  const { stdout } = spawnSync('git', ['check-ignore', ...files], { cwd: root, encoding: 'utf8' });
  expect(stdout.trim().split('\n')).toEqual(files);
});

test('npm ci accepts the lockfile, which includes every optional package', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>;
  };
  const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies));
  const there = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, '')));
  // To fix a failure, run: node scripts/complete-lockfile.mjs
  expect(wanted.filter((name) => !there.has(name))).toEqual([]);
});
