import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from '@jest/globals';
import { startCli } from '../support/cli.js';
import { openFolder } from '../support/folder.js';

const SECRET = 'correct horse battery';
const BODY = '{"id":"e-1","version":"2026-11-21","type":"transfer.status_changed","data":{"id":"t-1","status":"SENT"}}';

const secretFile = join(openFolder(), 'secret');
writeFileSync(secretFile, `${SECRET}\n`);
let listener: ReturnType<typeof startCli> | undefined;

afterEach(async () => {
  if (listener) {
    listener.kill('SIGTERM');
    await once(listener, 'close');
    expect(listener.exitCode).toBe(0);
    listener = undefined;
  }
});

async function listen(...options: string[]): Promise<{ url: string; next(): Promise<string> }> {
  listener = startCli(['listen', '--port', '0', '--secret-file', secretFile, ...options]);
  const lines = createInterface({ input: listener.stdout as NonNullable<typeof listener.stdout> })[
    Symbol.asyncIterator
  ]();
  const next = async () => String((await lines.next()).value);
  const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(await next())?.[0];
  return { url: url ?? '', next };
}

async function deliver(url: string, secret = SECRET): Promise<number> {
  const t = new Date().toISOString();
  const v0 = createHmac('sha256', secret).update(`${t}.${BODY}`).digest('hex');
  const { status } = await fetch(url, {
    method: 'POST',
    headers: { 'service-signature': `t=${t},v0=${v0}` },
    body: BODY,
  });
  return status;
}

test('prints each delivery with the verdict on its signature, and marks repeated events', async () => {
  const { url, next } = await listen();
  expect(await deliver(url)).toBe(204);
  expect(await next()).toMatch(/transfer\.status_changed SENT {2}event e-1 {2}signature verified {2}→ 204$/);
  expect(await deliver(url)).toBe(204);
  expect(await next()).toMatch(/signature verified {2}seen before {2}→ 204$/);
  expect(await deliver(url, 'the secret of another')).toBe(401);
  expect(await next()).toMatch(/BAD SIGNATURE: the signature does not match.*→ 401$/);
});

const ATTACK = '\u001b]0;owned\u0007\u009b2J\r\n\u202eevil\u2066\u200f';
const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

test.each([
  ['text', []],
  ['JSON', ['--json']],
])('prints untrusted requests as harmless %s, and cuts long ones', async (_, options) => {
  const { url, next } = await listen(...options);
  const text = `${ATTACK}${'x'.repeat(5_000)}`;
  const body = JSON.stringify({ id: text, type: text, data: { status: text } });
  expect((await fetch(url, { method: 'POST', body, headers: { 'service-signature': 'x'.repeat(5_000) } })).status).toBe(
    401,
  );
  const line = await next();
  expect(line).toContain('evil');
  expect(line).not.toMatch(CONTROL);
  expect(line.length).toBeLessThan(1_500);
  const huge = await fetch(url, { method: 'POST', body: 'x'.repeat(70_000) }).catch(() => undefined);
  expect([413, undefined]).toContain(huge?.status);
  expect(await deliver(url)).toBe(204);
  expect(await next()).toContain('e-1');
});

test('regression: data of thousands of levels ended listen --json', async () => {
  const { url, next } = await listen('--json');
  const data = '['.repeat(32_000) + ']'.repeat(32_000);
  expect((await fetch(url, { method: 'POST', body: `{"data":${data}}` })).status).toBe(401);
  expect(JSON.parse(await next())).toMatchObject({ id: null, data: null, verified: false });
  expect(await deliver(url)).toBe(204);
});

test('a shell that reads its script from a pipe lost it when listen ran in the background', async () => {
  const shell = spawn('bash', { stdio: 'pipe' });
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);
  const command = `"${process.execPath}" dist/src/cli.js listen --port 0 --secret-file "${secretFile}"`;
  shell.stdin.write(`set -m\n${command} & echo "pid $!"\n`);
  const first = [await next(), await next()].sort();
  expect(first).toEqual([expect.stringMatching(/^listening on/), expect.stringMatching(/^pid \d+$/)]);
  // The module `process` opens standard input, and makes the pipe that the shell reads non-blocking.
  for (const word of ['one', 'two']) {
    shell.stdin.write(`echo ${word}\n`);
    expect(await next()).toBe(word);
  }
  shell.stdin.end('kill %1; wait\n');
  await once(shell, 'close');
});
