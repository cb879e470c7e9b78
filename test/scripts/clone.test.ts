import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

test('a clone has LF in every file of text, whatever git is told about line endings', () => {
  const clone = mkdtempSync(join(tmpdir(), 'clone-'));
  try {
    const windows = ['-c', 'core.autocrlf=true', '-c', 'core.eol=crlf'];
    const { status } = spawnSync('git', [...windows, 'checkout-index', '--all', `--prefix=${clone}/`]);
    expect(status).toBe(0);
    const files = readdirSync(clone, { recursive: true, encoding: 'utf8' }).filter((name) =>
      statSync(join(clone, name)).isFile(),
    );
    expect(files).toContain('deploy/temporal-schema.sh');
    const changed = files.filter((name) => !/\.png$/.test(name) && readFileSync(join(clone, name)).includes('\r\n'));
    expect(changed).toEqual([]);
  } finally {
    rmSync(clone, { recursive: true });
  }
});
