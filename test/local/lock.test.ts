import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { recordProcess } from '../../src/local/child.js';
import { lockHolder, releaseLock, takeLock } from '../../src/local/stack-state.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a lock is held until it is released, and names its holder', () => {
  expect(lockHolder(folder)).toBeUndefined();
  takeLock(folder);
  expect(lockHolder(folder)).toEqual(recordProcess(process.pid));
  expect(() => takeLock(folder)).toThrow(`is already running as process ${process.pid};`);
  releaseLock(folder);
  expect(lockHolder(folder)).toBeUndefined();
  takeLock(folder);
  expect(readdirSync(folder)).toEqual(['lock.3']);
});

test.each([
  ['of a process that has ended', JSON.stringify({ pid: 2 ** 22 + 1, started: 'x' })],
  ['of a process whose pid another process has now', JSON.stringify({ pid: process.pid, started: 'x' })],
  ['that was released', 'released'],
  ['that is damaged', '{"pid":'],
])('takes over a lock %s', (_, content) => {
  symlinkSync(content, join(folder, 'lock.7'));
  takeLock(folder);
  expect(readdirSync(folder)).toEqual(['lock.8']);
});

test('only one of several concurrent processes takes over the lock of a dead process', async () => {
  symlinkSync(JSON.stringify({ pid: process.pid, started: 'x' }), join(folder, 'lock.1'));
  const script = `
    const { takeLock } = await import(${JSON.stringify(pathToFileURL('dist/src/local/stack-state.js').href)});
    try { takeLock(${JSON.stringify(folder)}); console.log('taken'); } catch (error) { console.log(error.message); }
    process.stdin.on('data', () => {}).on('end', () => process.exit());`;
  const contenders = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const outputs = await Promise.all(
    contenders.map(async (child) => String((await once(child.stdout, 'data'))[0]).trim()),
  );
  for (const child of contenders) child.stdin.end();
  await Promise.all(contenders.map((child) => once(child, 'close')));
  const locked = expect.stringMatching(/already running as process \d+;/);
  expect(outputs.sort((a, b) => b.length - a.length)).toEqual([locked, locked, locked, 'taken']);
});
