import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { SignatureError, verify } from '../../clients/typescript/src/verify.js';
import { signatureHeader } from '../../src/delivery/sender/headers.js';
import { Secret } from '../../src/platform/secret.js';
import { clients, runIn, testWith, vectors } from '../support/vectors.js';

// The compiled languages are in verifiers.nightly.test.ts.
const passes = { status: 0, output: expect.stringMatching(/\b0 failed|\bOK\b/) };

test('the verifier for Node.js passes the shared vectors', () => {
  const verdicts = vectors.cases.map(({ name, header, body_base64, secret, now }) => {
    try {
      const body = Buffer.from(body_base64, 'base64');
      verify({ header, body, secret, now: new Date(now), toleranceSeconds: vectors.tolerance_seconds });
      return [name, 'valid'];
    } catch (error) {
      return [name, error instanceof SignatureError ? error.code : String(error)];
    }
  });
  expect(verdicts).toEqual(vectors.cases.map(({ name, expected }) => [name, expected]));
  expect(new Set(verdicts.map(([name]) => name)).size).toBe(verdicts.length);
});

test('the service signs as the valid vectors are signed', () => {
  const signed = vectors.cases.flatMap(({ expected, header, body_base64, secret }) => {
    // Other valid spellings of the header are for later versions of the service.
    const [, t] = /^t=([^,]+),v0=[0-9a-f]{64}$/.exec(header ?? '') ?? [];
    if (expected !== 'valid' || t === undefined) return [];
    return [
      [signatureHeader({ secret: new Secret(secret), t, body: Buffer.from(body_base64, 'base64').toString() }), header],
    ];
  });
  expect(signed.length).toBeGreaterThan(25);
  const differing = signed.filter(([own, given]) => own !== given);
  // The service sends text: a body that is not UTF-8 is for verifiers alone.
  expect(differing).toHaveLength(1);
});

testWith('python3')('the verifier for Python passes the shared vectors', () => {
  const args = ['-B', '-m', 'unittest', 'test_vectors'];
  expect(runIn(join(clients, 'python'), 'python3', args)).toEqual(passes);
});

const hasPsycopg = spawnSync('python3', ['-c', 'import psycopg']).status === 0;
(hasPsycopg ? test : test.skip)(
  'the recipe of an inbox passes the vectors, and gives each event its effect once',
  () => {
    const args = [
      `DATABASE_URL=${process.env.TEST_DATABASE_URL}`,
      'python3',
      '-B',
      '-m',
      'unittest',
      'test_inbox_recipe',
    ];
    expect(runIn(join(clients, 'python'), 'env', args)).toEqual(passes);
  },
);

testWith('php')('the verifier for PHP passes the shared vectors', () => {
  expect(runIn(clients, 'php', ['php/test_vectors.php'])).toEqual(passes);
});

testWith('ruby')('the verifier for Ruby passes the shared vectors', () => {
  expect(runIn(clients, 'ruby', ['ruby/test_vectors.rb'])).toEqual(passes);
});
