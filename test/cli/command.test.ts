import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseSince } from '../../src/cli/command.js';

let copy: string;

/** A copy of the built project, whose cache no other test fills. */
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'load-quickly-'));
  cpSync('dist', join(copy, 'dist'), { recursive: true, filter: (path) => !path.includes('.compile-cache') });
  cpSync('package.json', join(copy, 'package.json'));
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

const cache = () => join(copy, 'dist/.compile-cache');

/** Node.js's debug log of the compile cache. */
function run(...args: string[]): string {
  const env = { PATH: process.env.PATH, LOCAL_DIR: copy, DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' };
  const { stderr } = spawnSync(process.execPath, ['dist/src/cli.js', ...args], {
    cwd: copy,
    env: { ...env, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
    encoding: 'utf8',
  });
  return stderr;
}

test('a command reuses the compiled code that an earlier command cached in the built folder', () => {
  run('clients', 'list');
  expect(readdirSync(cache())).toHaveLength(1);
  const lines = run('clients', 'list');
  expect(lines).toMatch(/wasm-base64.* was accepted/);
  expect(lines).toContain('Postgres cannot be reached');
});

test('--help neither reads nor writes compiled code', () => {
  rmSync(cache(), { recursive: true, force: true });
  execFileSync(process.execPath, ['dist/src/cli.js', '--help'], { cwd: copy });
  expect(existsSync(cache())).toBe(false);
});

it('reads --since as a time or as a duration before now', () => {
  expect(parseSince('2026-11-21T10:00:00Z')).toBe(Date.UTC(2026, 10, 21, 10));
  expect(parseSince('2026-11-21T10:00+02:00')).toBe(Date.UTC(2026, 10, 21, 8));
  expect(parseSince('2026-11-21')).toBe(Date.UTC(2026, 10, 21));
  const before = Date.now();
  const hourAgo = parseSince('1h') + 3_600_000;
  expect(hourAgo >= before && hourAgo <= Date.now()).toBe(true);
});

it.each([
  ...['', 'yesterday', '2026-13-01', '2026-11-21T10:00:00', '1', '10:00', '2026-02-30', '2026-11-31T10:00:00Z'],
  ...['2026-02-29', '2026-11-21T24:00Z', '2026-11-21T10:00:60Z', '2026-11-21T10:00:00+0000', '0000-01-01'],
  ...['0001-01-01T00:00+01:00', '9999-12-31T23:59:59-01:00', '999999999d', '36501d'],
])('rejects %j as neither a time nor a duration', (text) => {
  expect(() => parseSince(text)).toThrow('Give a duration such as 2h, or a time');
});
