import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { temporalsPostgres } from './parts.js';

afterEach(() => {
  delete process.env.TEMPORAL_POSTGRES_PID_FILE;
  delete process.env.TEMPORAL_POSTGRES_URL;
});

it("a run on Temporal's dev server has no Postgres of Temporal to kill", () => {
  expect(temporalsPostgres()).toBeUndefined();
});

it('a kill ends the process that the file names', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parts-'));
  const victim = spawn('sleep', ['600']);
  process.env.TEMPORAL_POSTGRES_PID_FILE = join(folder, 'pid');
  process.env.TEMPORAL_POSTGRES_URL = 'postgres://nowhere';
  writeFileSync(process.env.TEMPORAL_POSTGRES_PID_FILE, String(victim.pid));
  const ended = once(victim, 'exit');
  expect(await temporalsPostgres()?.kill('kill -9', 0)).toBe(victim.pid);
  expect(await ended).toEqual([null, 'SIGKILL']);
  rmSync(folder, { recursive: true });
});
