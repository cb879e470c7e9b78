import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';

const folder = mkdtempSync(join(tmpdir(), 'release-'));
afterAll(() => rmSync(folder, { recursive: true }));

const clone = join(folder, 'clone');
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: clone });
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

/** Without an engine: the image is another test's. */
function rehearse() {
  const env = { ...process.env, DOCKER_HOST: 'unix:///nowhere' };
  const args = ['scripts/release.mjs', '--dry-run', '--skip-gates'];
  return spawnSync(process.execPath, args, { cwd: clone, env, encoding: 'utf8' });
}

test('a rehearsal makes a folder from which the client installs and verifies, by the notes alone', () => {
  execFileSync('git', ['clone', '--quiet', '.', clone]);
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'));
  writeFileSync(join(clone, '.git/info/exclude'), 'node_modules\n');
  cpSync('src/platform/database/generated', join(clone, 'src/platform/database/generated'), { recursive: true });
  // As the last commit before a release does.
  for (const path of ['CHANGELOG.md', 'clients/typescript/CHANGELOG.md']) {
    const text = readFileSync(join(clone, path), 'utf8');
    writeFileSync(join(clone, path), text.replace(/^## Unreleased\n.*?^## /ms, '## Unreleased\n\n## '));
  }
  git('commit', '--quiet', '--all', '--allow-empty', '--message=Release');

  const { stdout: said, stderr } = rehearse();
  expect([stderr, said]).toEqual(['', expect.stringContaining('nothing was published')]);
  const files = join(folder, 'files');
  cpSync(join(clone, 'dist/release'), files, { recursive: true });
  const [untilService = ''] = readFileSync(join(files, 'README.md'), 'utf8').split('## Run the service');
  const commands = [...untilService.matchAll(/^```sh\n(.*?)^```/gms)].map(([, code]) => code).join('');
  const { status, stdout } = spawnSync('bash', ['-e', '-c', commands], { cwd: files, encoding: 'utf8' });
  expect([stdout, status]).toEqual([
    expect.stringMatching(/transfer-service-client-.*: OK.*\bverified: signed with this secret/s),
    0,
  ]);
  const sbom = JSON.parse(readFileSync(join(files, `transfer-service-${version}.cdx.json`), 'utf8'));
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const names = sbom.components.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
});

test('a commit that is not ready is rejected, with every reason', () => {
  const changelog = join(clone, 'CHANGELOG.md');
  writeFileSync(changelog, readFileSync(changelog, 'utf8').replace('## Unreleased\n', '## Unreleased\n\n- More\n'));
  const { status, stderr } = rehearse();
  expect(stderr.trim().split('\n')).toEqual([
    'the work tree has changes; commit them',
    `CHANGELOG.md: what is under Unreleased belongs to ${version}`,
  ]);
  expect(status).toBe(1);
});
