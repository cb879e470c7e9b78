import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { curlCommand } from '../../../src/console/pages/attempt.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'curl-'));
  // Stands in for curl: it prints each argument as hexadecimal.
  const script = `#!${process.execPath}\nfor (const a of process.argv.slice(2)) console.log(Buffer.from(a).toString('hex'));\n`;
  writeFileSync(join(folder, 'curl'), script, { mode: 0o755 });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The arguments that curl gets when a shell runs the command. */
function argumentsOf(command: string): string[] {
  const env = { PATH: `${folder}:/usr/bin:/bin`, HOME: '/nowhere' };
  const output = execFileSync('sh', ['-c', command], { env, cwd: folder, encoding: 'utf8' });
  return output
    .split('\n')
    .slice(0, -1)
    .map((hex) => Buffer.from(hex, 'hex').toString());
}

const HEADERS = [
  ['Content-Type', 'application/json'],
  ['Service-Signature', 't=2026-11-22T06:14:03.123Z,v0=abc'],
] as const;

const expected = (url: string, body: string) => [
  '--globoff',
  ...['--request', 'POST'],
  ...['--url', url],
  ...HEADERS.flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
  ...['--data-raw', body],
];

it.each([
  ["https://example.com/'; touch owned; '", '{}'],
  ['https://example.com/$(touch owned)`touch owned`$HOME?a=1&b=2|c;d<e>f', '{}'],
  ['https://example.com/{a,b}[1-3]*?!#~', '@/etc/passwd'],
  ['https://example.com/"\'\\\'"', '{"a":"it\'s \\"quoted\\" \\\\ $HOME"}'],
  ['https://example.com/ü\u202e\u{1f4a3}', 'line one\nline two\r\n\ttab\u0001\u001b[31m'],
  ['-o/tmp/owned', '--output owned'],
  ["'", "''''"],
])('a shell hands curl %j with body %j byte for byte', (url, body) => {
  expect(argumentsOf(curlCommand(url, HEADERS, body))).toEqual(expected(url, body));
});

it('does so for any text', () => {
  const text = fc.string({ unit: 'binary', maxLength: 60 }).map((any) => any.replaceAll('\0', ''));
  fc.assert(
    fc.property(text, text, (url, body) => {
      expect(argumentsOf(curlCommand(url, HEADERS, body))).toEqual(expected(url, body));
    }),
    { numRuns: 15 },
  );
});
