import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHostsFile } from '../../../src/webhooks/sender/hosts-file.js';

const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
const path = join(folder, 'hosts');
afterAll(() => rmSync(folder, { recursive: true }));

function write(text: string, changedAt: number): void {
  writeFileSync(path, text);
  utimesSync(path, changedAt, changedAt);
}

test('reads several names of a line and of several lines, and skips comments and malformed lines', () => {
  write('# 10.0.0.9 commented\n127.0.0.1\tlocalhost  Alias # alias2\nfd00::1 alias\nnonsense other\n\n10.0.0.1\n', 1);
  const addressesOf = createHostsFile(path);
  expect(addressesOf('localhost')).toEqual(['127.0.0.1']);
  expect(addressesOf('alias')).toEqual(['127.0.0.1', 'fd00::1']);
  expect(['commented', 'alias2', 'other', 'missing'].map(addressesOf)).toEqual([[], [], [], []]);
});

test('reads a changed file again, and takes a removed file as empty', () => {
  write('10.0.0.1 receiver\n', 1);
  const addressesOf = createHostsFile(path);
  expect(addressesOf('receiver')).toEqual(['10.0.0.1']);
  write('10.0.0.2 receiver\n', 2);
  expect(addressesOf('receiver')).toEqual(['10.0.0.2']);
  rmSync(path);
  expect(addressesOf('receiver')).toEqual([]);
});
