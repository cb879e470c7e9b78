import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { findTemporal } from '../../src/local/temporal.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'binary-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(subfolder: string, mode = 0o755): string {
  const path = join(folder, subfolder, 'temporal');
  mkdirSync(join(folder, subfolder), { recursive: true });
  writeFileSync(path, '');
  chmodSync(path, mode);
  return path;
}

function find(...path: string[]): Promise<string> {
  const search = { cacheDir: join(folder, 'cache'), path: path.join(delimiter), signal: undefined };
  return findTemporal({ ...search, progress: () => {} });
}

test('prefers an executable program on PATH to the program in the cache', async () => {
  const cached = program('cache/temporal-1.5.1');
  const installed = program('bin');
  program('readable', 0o644);
  mkdirSync(join(folder, 'directory/temporal'), { recursive: true });
  expect(await find(join(folder, 'bin'))).toBe(installed);
  expect(await find(join(folder, 'readable'), join(folder, 'directory'), '', join(folder, 'bin'))).toBe(installed);
  expect(await find(join(folder, 'readable'), join(folder, 'missing'))).toBe(cached);
});
