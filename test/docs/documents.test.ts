import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { freePort } from '../../src/platform/free-port.js';
import { makeLocalDir } from '../support/local-dir.js';
import { waitFor } from '../support/wait-for.js';

const root = join(import.meta.dirname, '../..');
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
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

test('every picture is shown by a document', () => {
  const shown = documents.flatMap((document) => [...read(document).matchAll(/images\/([\w-]+\.png)\)/g)]);
  expect(readdirSync(join(root, 'docs/images')).sort()).toEqual([...new Set(shown.map(([, name]) => name))].sort());
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

test('a cell of a table that is not generated has at most 40 words', () => {
  const long = documents.flatMap((document) =>
    withoutCode(read(document).replace(/<!-- (\w+) -->\n.*?<!-- \/\1 -->/gs, ''))
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .flatMap((row) => row.split('|'))
      .filter((cell) => cell.trim().split(/\s+/).length > 40)
      .map((cell) => `${document}: ${cell}`),
  );
  expect(long).toEqual([]);
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

test('every command in the documents exists', () => {
  const named = documents.flatMap((document) =>
    [...read(document).matchAll(/npx transfer-service ([a-z]+)(?: ([a-z]+(?:-[a-z]+)*)\b)?/g)].map(([, ...words]) =>
      words.filter((word) => word !== undefined),
    ),
  );
  const help = (words: string[]) =>
    execFileSync(process.execPath, ['dist/src/cli.js', ...words, '--help'], { cwd: root, encoding: 'utf8' });
  const groups = new Map(named.map(([group = '']) => [group, help([group])]));
  for (const [group = '', command] of named) {
    expect(groups.get(group)).toContain(`transfer-service ${group}`);
    if (command) expect(groups.get(group)).toMatch(new RegExp(`^ +${command}\\b`, 'm'));
  }
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

const local = makeLocalDir();
const folder = mkdtempSync(join(tmpdir(), 'readme-'));
const started: ChildProcess[] = [];
afterAll(async () => {
  for (const child of started) if (child.exitCode === null && child.kill()) await once(child, 'exit');
  await local.remove();
  rmSync(folder, { recursive: true });
});

test('a user who pastes the lines of the README gets the first delivery', async () => {
  const [, snippet = ''] = /<!-- snippet: first-delivery.sh -->\n```sh\n(.*?)```/s.exec(read('README.md')) ?? [];
  const { PATH, HOME } = process.env;
  const ports = { PORT: '0', POSTGRES_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0' };
  const service = spawn(process.execPath, ['dist/src/main.js'], {
    cwd: root,
    env: { PATH, HOME, ...ports, LOCAL_DIR: local.path, LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  started.push(service);
  await once(service.stdout, 'data');
  const receiver = await freePort();
  // A clone, as far as npx is concerned. It finds the command there, or fails: it must install nothing.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const npm = { npm_config_offline: 'true', npm_config_cache: join(folder, 'cache') };
  const lines = snippet.replaceAll('.local/', `${local.path}/`).replaceAll('4000', String(receiver));
  // As in an interactive shell, the background job is a process group.
  const terminal = spawn('bash', ['-c', `set -m\n${lines}\nread _; kill %1; wait`], {
    cwd: folder,
    env: { PATH, HOME, ...npm },
  });
  started.push(terminal);
  let said = '';
  for (const stream of [terminal.stdout, terminal.stderr]) stream.on('data', (text) => (said += text));
  await waitFor(
    'the receiver to say so',
    () => /PROCESSING .*signature verified .*204/.test(said) || terminal.exitCode !== null,
  );
  terminal.stdin.end('\n');
  if (terminal.exitCode === null) await once(terminal, 'exit');
  await expect(fetch(`http://127.0.0.1:${receiver}/`)).rejects.toThrow();
  expect(said).toMatch(/transfer\.status_changed PROCESSING .* signature verified {2}→ 204/);
});
