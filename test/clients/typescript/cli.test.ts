import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { EventFeed } from '../../../clients/typescript/src/cli/event-feed.js';
import { forward } from '../../../clients/typescript/src/cli/forward.js';
import { bodyOf, postEvent } from '../../../clients/typescript/src/cli/post-event.js';
import type { Event } from '../../../clients/typescript/src/types.js';
import { signatureHeader } from '../../../clients/typescript/src/verify.js';
import { eventBody } from '../../../src/delivery/event-catalogue.js';
import { openFolder } from '../../support/folder.js';
import { openStubService, problem, STUB_SECRET } from '../../support/stub-service.js';

const folder = openFolder();
const bin = join(import.meta.dirname, '../../../clients/typescript/bin.js');
const SECRET = 'whsec_0123456789abcdef';
writeFileSync(join(folder, 'secret'), `${SECRET}\n`);
writeFileSync(join(folder, 'body'), '{"id":"e-1"}');
writeFileSync(join(folder, 'broken.json'), `{"client_secret": "${STUB_SECRET}"`);

function run(args: string[], env: Record<string, string> = {}) {
  const { PATH } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
    cwd: folder,
    env: { PATH, ...env },
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

const FORWARD = ['forward', '--secret-file', 'secret', '--to'];

describe('invalid arguments end with 2 and one line', () => {
  test.each<[string, string[], RegExp]>([
    ['an unknown option', ['verify', '--loud'], /^error: Unknown option '--loud'/],
    ['a receiver elsewhere', [...FORWARD, 'http://10.0.0.1/'], /add --allow-remote/],
    [
      'a broken file of credentials',
      [...FORWARD, 'http://localhost:1/', '--credentials', 'broken.json'],
      /is not a JSON object/,
    ],
    ['a timeout of nothing', ['trigger', '--timeout', '0'], /^error: --timeout must be a number from 1 to 600/],
  ])('%s', (_, args, says) => {
    const { code, stdout, stderr } = run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).not.toContain(STUB_SECRET);
  });
});

test('verify checks a signature, and prints no control character of its arguments', () => {
  const header = signatureHeader({ secret: SECRET, t: new Date().toISOString(), body: '{"id":"e-1"}' });
  const args = ['verify', '--secret-file', 'secret', '--body', 'body', '--header'];
  expect(run([...args, header])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^verified: /) });
  expect(run([...args, header.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^unknown: No common mistake[^\n]*\n$/),
  });
  expect(JSON.parse(run([...args, 'x', '--json']).stdout)).toMatchObject({ verified: false, code: 'malformed_header' });
  const { stderr } = run(['verify', '--secret-file', 'secret', '--header', 'x', '--body', '\u001b]0;owned\u0007']);
  expect(stderr.trimEnd()).not.toMatch(/\p{Cc}/u);
});

test.each([
  [
    'secret',
    SECRET,
    (path: string) => ['verify', '--secret-file', path, '--body', 'body', '--header', 'x'],
    /^malformed/,
  ],
  [
    'file of credentials',
    `{"base_url": "http://localhost:1", "client_id": "x", "client_secret": "${STUB_SECRET}"}`,
    (path: string) => ['check', 'e-1', '--credentials', path],
    /the connection failed/,
  ],
])('a %s may be in UTF-16 or begin with a byte order mark, as PowerShell writes it', (_, text, argsOf, says) => {
  const utf16 = Buffer.from(`\ufeff${text}\r\n`, 'utf16le');
  for (const bytes of [Buffer.from(`\ufeff${text}\r\n`), utf16, Buffer.from(utf16).swap16()]) {
    writeFileSync(join(folder, 'marked'), bytes);
    expect(run(argsOf('marked')).stderr).toMatch(says);
  }
  writeFileSync(join(folder, 'marked'), Buffer.from(text, 'utf16le'));
  const { stderr } = run(argsOf('marked'));
  expect(stderr).toMatch(/marked is not text in UTF-8/);
  expect(stderr).not.toContain(STUB_SECRET);
});

const stub = await openStubService();

describe('against a stub', () => {
  let ended: AbortController;
  beforeEach(() => {
    ended = new AbortController();
  });
  afterEach(() => ended.abort());

  const event = (n: number): Event => ({
    id: `e-${n}`,
    version: '2026-11-21',
    type: 'transfer.status_changed',
    data: { id: 't-1', status: 'SENT' },
    created_at: new Date(Date.UTC(2026, 10, 22, 10, 0, n)).toISOString().slice(0, -1),
    deliveries: { pending: 0, succeeded: 1, failed: 0, cancelled: 0 },
  });
  const page = (next_cursor: string | null, ...events: Event[]) => ({
    status: 200,
    json: { data: events, has_more: false, next_cursor },
  });

  test('a feed reports the events after the newest one, and each page again until it has arrived', async () => {
    const feed = new EventFeed(stub.client(), ended.signal);
    stub.answers = [page(null, event(10))];
    await feed.begin();
    const next = async () => {
      const ids = (await feed.next()).map(({ id }) => id);
      return [new URLSearchParams(stub.requests.at(-1)?.url.split('?')[1]).toString(), ids];
    };
    stub.answers = [problem(500, 'internal_error')];
    await expect(feed.next()).rejects.toMatchObject({ code: 'internal_error' });
    stub.answers = [page('after-12', event(11), event(12))];
    const first = 'order=oldest&limit=100&created_after=2026-11-22T10%3A00%3A10.000Z';
    expect(await next()).toEqual([first, ['e-11', 'e-12']]);
    stub.answers = [problem(500, 'internal_error')];
    await expect(feed.next()).rejects.toMatchObject({ code: 'internal_error' });
    stub.answers = [page('after-13', event(13))];
    expect(await next()).toEqual(['order=oldest&limit=100&cursor=after-12', ['e-13']]);
  });

  test('forward --check ends where the receiver on this machine fails a check', async () => {
    stub.otherwise = ({ url }) =>
      url === '/hooks' ? { status: 204 } : { status: 200, json: { environment: 'sandbox', access_token: 't' } };
    const printed: string[] = [];
    const code = await forward.run({
      env: {
        TRANSFER_SERVICE_BASE_URL: stub.url,
        TRANSFER_SERVICE_CLIENT_ID: 'id',
        TRANSFER_SERVICE_CLIENT_SECRET: STUB_SECRET,
      },
      values: { to: `${stub.url}/hooks`, 'secret-file': join(folder, 'secret'), check: true },
      positionals: [],
      signal: ended.signal,
      print: (line) => void printed.push(line),
      warn: () => {},
    });
    expect([code, printed.length]).toEqual([1, 10]);
    expect(printed.join('\n')).toMatch(/passed valid: 204.*FAILED wrong_secret: 204.*has failed the check/s);
  });

  test('a forwarded event has the bytes of the delivery, and no redirect is followed', async () => {
    const made = {
      id: 'e-1',
      type: 'transfer.status_changed',
      data: { id: 't-1', status: 'SENT' },
      createdAt: 1_795_000_000_042,
    } as const;
    const bytes = eventBody(made);
    const { deliveries: _, ...delivered } = { ...JSON.parse(bytes), deliveries: {} };
    expect(bodyOf({ deliveries: {}, ...delivered } as never)).toBe(bytes);
    const to = { url: new URL(`${stub.url}/hooks`), secret: Buffer.from(SECRET), signal: ended.signal };
    stub.answers = [{ status: 204 }, { status: 307, headers: { location: `${stub.url}/elsewhere` } }, 'broken'];
    expect(await postEvent(delivered, to)).toMatchObject({ status: 204, error: null });
    expect(await postEvent(delivered, to)).toMatchObject({ status: 307, error: 'redirect' });
    expect(await postEvent(delivered, to)).toMatchObject({ status: null, error: expect.any(String) });
    expect(stub.requests.map(({ url }) => url)).toEqual(['/hooks', '/hooks', '/hooks']);
    expect(stub.requests[0]).toMatchObject({
      body: bytes,
      headers: { 'user-agent': 'Service-Webhooks/1.0', 'content-type': 'application/json' },
    });
  });
});
