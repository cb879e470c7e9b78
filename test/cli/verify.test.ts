import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { standardHeaders } from '../../clients/typescript/src/standard.js';
import { runCommand } from '../support/command.js';
import { openFolder } from '../support/folder.js';

const SECRET = 'correct horse battery';
const BODY = '{"id":"0195f000-0000-7000-8000-000000000000"}';

const folder = openFolder();
const secretFile = join(folder, 'secret');
const bodyFile = join(folder, 'body');
writeFileSync(secretFile, `${SECRET}\n`);
writeFileSync(bodyFile, BODY);

function header(secret = SECRET, at = new Date()): string {
  const t = at.toISOString();
  return `t=${t},v0=${createHmac('sha256', secret).update(`${t}.${BODY}`).digest('hex')}`;
}

test('exits with 0 for a valid signature and prints the time of signing', async () => {
  const { code, stdout } = await runCommand([
    'verify',
    ...['--secret-file', secretFile, '--header', header(), '--body', bodyFile, '--json'],
  ]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ verified: true, t: expect.stringMatching(/Z$/) });
});

test('verifies the signature of Standard Webhooks', async () => {
  const at = new Date();
  const of = standardHeaders({ secret: SECRET, id: 'evt', t: at.toISOString(), body: BODY });
  const verified = (id: string) =>
    runCommand([
      ...['verify', '--secret-file', secretFile, '--body', bodyFile, '--header', of['webhook-signature'] ?? ''],
      ...['--webhook-id', id, '--webhook-timestamp', of['webhook-timestamp'] ?? '', '--json'],
    ]);
  const t = `${at.toISOString().slice(0, 19)}.000Z`;
  expect(JSON.parse((await verified('evt')).stdout)).toEqual({ verified: true, t });
  expect(JSON.parse((await verified('other')).stdout)).toMatchObject({ verified: false, code: 'signature_mismatch' });
});

test('reads the body from standard input, and warns that --secret is visible to other users', async () => {
  const args = ['verify', '--secret', SECRET, '--header', header(), '--body', '-'];
  expect(await runCommand(args, {}, BODY)).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^verified/),
    stderr: expect.stringMatching(/^note: [^\n]*ps[^\n]*\n$/),
  });
});

describe('the explanation of a mistake', () => {
  const sign = (text: string, key = SECRET) => createHmac('sha256', key).update(text).digest('hex');
  const explain = async (made: { header: string; body?: string }, ...more: string[]) => {
    writeFileSync(join(folder, 'explained'), made.body ?? BODY);
    const args = ['verify', '--secret-file', secretFile, '--header', made.header, '--body', join(folder, 'explained')];
    const [json, text] = await Promise.all([runCommand([...args, ...more, '--json']), runCommand([...args, ...more])]);
    expect(json.code).toBe(text.code);
    return { code: json.code, verdict: JSON.parse(json.stdout), text: text.stdout + text.stderr };
  };

  test('names the mistake in the given body and what to change', async () => {
    const { code, verdict, text } = await explain({ header: header(), body: `${BODY}\n` });
    const detail = expect.stringContaining('use the exact bytes of the request');
    expect({ code, verdict }).toEqual({
      code: 1,
      verdict: { verified: false, code: 'signature_mismatch', explanation: 'body_with_newline', detail },
    });
    expect(text).toBe(`body_with_newline: ${verdict.detail}\n`);
  });

  test('explains the digest that a receiver computed for a genuine delivery, whatever its age', async () => {
    for (const made of [header(), header(SECRET, new Date(Date.now() - 86_400_000))]) {
      const { code, verdict } = await explain({ header: made }, '--v0', sign(BODY));
      expect(code).toBe(1);
      expect(verdict).toMatchObject({ code: 'signature_mismatch', explanation: 'body_without_timestamp' });
    }
  });
});
