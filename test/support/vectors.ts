import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SignatureErrorCode } from '../../clients/typescript/src/verify.js';

export const clients = join(import.meta.dirname, '../../clients');

interface Vector {
  name: string;
  expected: 'valid' | SignatureErrorCode;
  header: string | null;
  body_base64: string;
  secret: string;
  now: string;
}

interface StandardVector extends Omit<Vector, 'header'> {
  id: string;
  timestamp: string;
  signature: string;
}

/** The shared vectors, which the verifier of each language passes. */
export const vectors: { tolerance_seconds: number; cases: Vector[]; standard_webhooks: StandardVector[] } = JSON.parse(
  readFileSync(join(clients, 'vectors/signatures.json'), 'utf8'),
);

/** For a language whose standard library has no JSON parser: a line for each vector, as its test program says. */
export function vectorLines(): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const lines = vectors.cases.map(({ name, header, body_base64, secret, now, expected }) =>
    [base64(name), header === null ? '-' : base64(header), body_base64, base64(secret), now, expected].join('\t'),
  );
  return `${lines.join('\n')}\n`;
}

/** `test` if the program is installed; otherwise a skipped test, and a line that says so. */
export function testWith(command: string, versionFlag = '--version') {
  if (spawnSync(command, [versionFlag]).status === 0) return test;
  process.stderr.write(`skipped: ${command} is not installed\n`);
  return test.skip;
}

/** @returns the exit code and all output */
export function runIn(folder: string, command: string, args: string[], input = '') {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', input });
  return { status, output: `${stdout}${stderr}` };
}
