import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { isConfigured, loadConfig, readEnvironment } from '../../../src/platform/config/config.js';
import { linesOf } from '../../support/configuration.js';
import { openFolder } from '../../support/folder.js';

const folder = openFolder();
const MASTER_KEY = Buffer.from('Kx7#pQ2!vB9@zL4$wM8%nR5^tY1&uI6*').toString('base64');
const URL_WITH_PASSWORD = 'postgresql://app:hunter2@db.internal/app';

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe('a secret in a file', () => {
  it.each([
    ['', 'as it is'],
    ['\n', 'without the line break at its end'],
    ['\r\n', 'without the line break of Windows at its end'],
  ])('is read from the file that NAME_FILE names (%j: %s)', (end) => {
    const env = {
      ENVIRONMENT: 'sandbox',
      DATABASE_URL_FILE: file('url', URL_WITH_PASSWORD + end),
      TEMPORAL_ADDRESS: 'temporal.internal:7233',
      MASTER_KEY_FILE: file('key', MASTER_KEY + end),
    };
    expect(isConfigured({ DATABASE_URL_FILE: env.DATABASE_URL_FILE })).toBe(true);
    const config = loadConfig(env);
    expect(config.databaseUrl.reveal()).toBe(URL_WITH_PASSWORD);
    expect(Buffer.from(config.masterKey.reveal()).toString('base64')).toBe(MASTER_KEY);
  });

  it('may be in UTF-16 or begin with a byte order mark, as Notepad and PowerShell write it', () => {
    const text = `\ufeff${MASTER_KEY}\r\n`;
    const utf16 = Buffer.from(text, 'utf16le');
    for (const bytes of [Buffer.from(text), utf16, Buffer.from(utf16).swap16()]) {
      const MASTER_KEY_FILE = file('marked', bytes);
      expect(readEnvironment({ MASTER_KEY_FILE }).MASTER_KEY).toEqual(readEnvironment({ MASTER_KEY }).MASTER_KEY);
    }
    for (const bytes of [Buffer.from(MASTER_KEY, 'utf16le'), Buffer.from([0xe9, 0x0a])]) {
      expect(linesOf(() => readEnvironment({ MASTER_KEY_FILE: file('binary', bytes) }))).toEqual([
        expect.stringMatching(/^MASTER_KEY_FILE: names a file that is not text in UTF-8/),
      ]);
    }
  });

  it.each<[string, NodeJS.ProcessEnv, string]>([
    [
      'both variables are given',
      { MASTER_KEY, MASTER_KEY_FILE: '/tmp/key' },
      'MASTER_KEY_FILE: MASTER_KEY is given too',
    ],
    [
      'there is no such file',
      { MASTER_KEY_FILE: join(folder, 'missing') },
      'MASTER_KEY_FILE: names a file that cannot be read (ENOENT)',
    ],
    ['the file is a folder', { DATABASE_URL_FILE: folder }, 'DATABASE_URL_FILE: names no regular file'],
    [
      'the file is too large for a secret',
      { MASTER_KEY_FILE: file('large', 'x'.repeat(1_100_000)) },
      'MASTER_KEY_FILE: names a file of more than 1048576 bytes',
    ],
    [
      'the content is invalid',
      { MASTER_KEY_FILE: file('invalid', 'hunter2') },
      'MASTER_KEY_FILE: give 32 bytes in base64',
    ],
  ])('is refused with the name of the variable if %s', (_, env, line) => {
    expect(linesOf(() => readEnvironment(env))).toEqual([expect.stringContaining(line)]);
  });

  it.each([
    ['the content of the file', { MASTER_KEY_FILE: file('leak', 'hunter2') }],
    ['a secret that was given as a path by mistake', { DATABASE_URL_FILE: URL_WITH_PASSWORD }],
  ])('keeps %s out of the error', (_, env) => {
    expect(linesOf(() => readEnvironment(env))).toHaveLength(1);
    expect(linesOf(() => readEnvironment(env)).join()).not.toContain('hunter2');
  });
});
