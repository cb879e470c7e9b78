import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runCommand } from '../support/command.js';
import { openFolder } from '../support/folder.js';

// The verdicts: test/clients/typescript.
const SECRET = 'correct horse battery';
const BODY = '{"id":"0195f000-0000-7000-8000-000000000000"}';
const secretFile = join(openFolder(), 'secret');
writeFileSync(secretFile, `${SECRET}\n`);
const sign = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex');
const t = new Date().toISOString();
const header = `t=${t},v0=${sign(`${t}.${BODY}`)}`;
const ARGS = ['verify', '--header', header, '--body', '-'];

test('exits with 0 for a valid signature, and warns that --secret is visible to other users', async () => {
  const valid = await runCommand([...ARGS, '--secret-file', secretFile, '--json'], {}, BODY);
  expect([valid.code, JSON.parse(valid.stdout)]).toEqual([0, { verified: true, t }]);
  expect(await runCommand([...ARGS, '--secret', SECRET], {}, BODY)).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^verified/),
    stderr: expect.stringMatching(/^note: [^\n]*ps[^\n]*\n$/),
  });
});

test.each([
  ['the given body', `${BODY}\n`, [], 'body_with_newline', 'use the exact bytes of the request'],
  ['the digest that a receiver computed', BODY, ['--v0', sign(BODY)], 'body_without_timestamp', ''],
])('exits with 1 and explains the mistake in %s', async (_, body, more, explanation, detail) => {
  const { code, stdout } = await runCommand([...ARGS, '--secret-file', secretFile, ...more, '--json'], {}, body);
  expect([code, JSON.parse(stdout)]).toEqual([
    1,
    { verified: false, code: 'signature_mismatch', explanation, detail: expect.stringContaining(detail) },
  ]);
});
