import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isRunning, recordProcess } from '../../src/local/child.js';
import { endLeftovers, writeState } from '../../src/local/stack-state.js';
import { build, findTemporal, type ProgramSearch } from '../../src/local/temporal-program.js';
import { waitFor } from '../support/wait-for.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'binary-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(subfolder: string, { name = 'temporal', content = '', mode = 0o755 } = {}): string {
  const path = join(folder, subfolder, name);
  mkdirSync(join(folder, subfolder), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

function find(path: string[], more: Partial<ProgramSearch> = {}): Promise<string> {
  const search = { cacheDir: join(folder, 'cache'), path: path.join(delimiter), signal: undefined };
  // No test downloads.
  return findTemporal({ ...search, progress: () => {}, ...more }, [build]);
}

test('prefers an executable program on PATH to the program in the cache', async () => {
  const cached = program('cache/temporal-1.5.1');
  const installed = program('bin');
  program('readable', { mode: 0o644 });
  mkdirSync(join(folder, 'directory/temporal'), { recursive: true });
  expect(await find([join(folder, 'bin')])).toBe(installed);
  expect(await find([join(folder, 'readable'), join(folder, 'directory'), '', join(folder, 'bin')])).toBe(installed);
  expect(await find([join(folder, 'readable'), join(folder, 'missing')])).toBe(cached);
});

describe('with Go', () => {
  const cached = () => join(folder, 'cache/temporal-1.5.1/temporal');
  /** The files of the cache other than locks and programs. */
  const drafts = () =>
    readdirSync(join(folder, 'cache/temporal-1.5.1.new')).filter((name) => !name.startsWith('lock.'));

  /** A `go` that runs `script`. It counts its builds. */
  function goThat(script: string): string[] {
    program('go', { name: 'go', content: `#!/bin/sh\necho >> ${folder}/builds\n${script}\n` });
    return [join(folder, 'go')];
  }
  const builds = () => readFileSync(join(folder, 'builds'), 'utf8').length;

  test('two searches at once build the program once, and find it complete', async () => {
    const go = goThat(
      'printf whole > $GOBIN/half; sleep 0.2; mv $GOBIN/half $GOBIN/temporal; chmod +x $GOBIN/temporal',
    );
    expect(await Promise.all([find(go), find(go)])).toEqual([cached(), cached()]);
    expect([readFileSync(cached(), 'utf8'), builds(), drafts()]).toEqual(['whole', 1, []]);
  });
});

test('the next start ends the build that a killed parent left running, with its whole group', async () => {
  const left = spawn('sh', ['-c', 'sleep 600 & echo $!; wait'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [child] = await once(left.stdout, 'data');
  const grandchild = recordProcess(Number(child));
  const building = recordProcess(left.pid ?? 0);
  writeState(folder, { masterKeyId: '', env: {}, building });
  await endLeftovers(folder, () => {});
  await waitFor('the end of the group', () => !isRunning(grandchild) && !isRunning(building));
});
