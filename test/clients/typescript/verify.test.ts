import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  SignatureError,
  type SignatureErrorCode,
  type Verifiable,
  verify,
} from '../../../clients/typescript/src/verify.js';
import { signatureHeader } from '../../../src/delivery/sender/headers.js';
import { Secret } from '../../../src/platform/secret.js';

const secret = 'whsec_0123456789abcdef';
const body = '{"id":"1","data":{"name":"Zoë"}}';
const t = '2026-11-21T10:00:00.123Z';
const signedAt = new Date(t);
const header = signatureHeader({ secret: new Secret(secret), t, body });
const v0 = header.split('v0=')[1]!;

function later(seconds: number): Date {
  return new Date(signedAt.getTime() + seconds * 1000);
}

function refusal(delivery: Partial<Verifiable>): SignatureError {
  try {
    verify({ header, body, secret, now: signedAt, ...delivery });
  } catch (error) {
    if (error instanceof SignatureError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

// Each spelling of a header, each time and each mistake: clients/vectors (verifiers.test.ts).
describe('accepts', () => {
  test.each<[string, Partial<Verifiable>]>([
    ['a delivery as it was sent', {}],
    ['the body as bytes', { body: Buffer.from(body) }],
    ['the secret as bytes', { secret: Buffer.from(secret) }],
    ['the header as a list of one', { header: [header] }],
    ['an older delivery within a longer tolerance', { now: later(900), toleranceSeconds: 900 }],
    ['a delivery further ahead within a longer tolerance', { now: later(-900), toleranceSeconds: 900 }],
  ])('%s', (_, delivery) => {
    expect(verify({ header, body, secret, now: signedAt, ...delivery })).toEqual({ t: signedAt });
  });

  test('a delivery signed now, with the current time by default', () => {
    const now = new Date().toISOString();
    const fresh = signatureHeader({ secret: new Secret(secret), t: now, body });
    expect(verify({ header: fresh, body, secret }).t.toISOString()).toBe(now);
    expect(() =>
      verify({
        header: signatureHeader({ secret: new Secret(secret), t: '2020-01-01T00:00:00.000Z', body }),
        body,
        secret,
      }),
    ).toThrow(SignatureError);
  });
});

describe('rejects', () => {
  test.each<[string, SignatureErrorCode, Partial<Verifiable>]>([
    ['no header', 'missing_header', { header: undefined }],
    ['the null of `Headers.get`', 'missing_header', { header: null }],
    ['an empty list', 'missing_header', { header: [] }],
    ['two headers', 'malformed_header', { header: [header, header] }],
  ])('%s: %s', (_, code, delivery) => {
    expect(refusal(delivery).code).toBe(code);
  });
});

test('an error never shows the secret or a signature', () => {
  const deliveries: Partial<Verifiable>[] = [
    { body: 'x' },
    { secret: `${secret}\n` },
    { header: `t=${t},v0=${'0'.repeat(64)}` },
    { now: later(301) },
    { header: 'garbage' },
  ];
  for (const delivery of deliveries) {
    const { message, stack } = refusal(delivery);
    expect(`${message}${stack}`).not.toContain(secret);
    expect(`${message}${stack}`).not.toContain(v0);
  }
});

test('a parsed body or an empty secret is a TypeError', () => {
  expect(() => verify({ header, body: JSON.parse(body), secret })).toThrow(TypeError);
  expect(() => verify({ header, body, secret: '' })).toThrow(TypeError);
});

describe('a delivery of 2020 was accepted when a comparison with the option was always false:', () => {
  const old = '2020-01-01T00:00:00.000Z';
  const replayed = { header: signatureHeader({ secret: new Secret(secret), t: old, body }), body, secret };
  const invalid = (name: 'toleranceSeconds' | 'now', values: readonly unknown[]) =>
    values.map((value): [string, Partial<Verifiable>] => [`${name} ${String(value)}`, { [name]: value }]);

  test.each([
    ...invalid('toleranceSeconds', [Number.NaN, 'abc', '300', Number.POSITIVE_INFINITY, -1, null, {}, 300n]),
    ...invalid('now', [new Date('abc'), Number.NaN, signedAt.getTime(), '2026-11-21', null, {}]),
  ])('%s is a TypeError', (_, options) => {
    expect(() => verify({ ...replayed, ...options })).toThrow(TypeError);
    // Also before anything of the delivery is looked at: the error is the program's, not the sender's.
    expect(() => verify({ ...replayed, header: undefined, ...options })).toThrow(TypeError);
  });

  test('a tolerance of 0 accepts the very millisecond', () => {
    expect(verify({ header, body, secret, now: signedAt, toleranceSeconds: 0 })).toEqual({ t: signedAt });
    expect(refusal({ now: later(0.001), toleranceSeconds: 0 }).code).toBe('too_old');
  });
});

test('verify.ts, explain.ts and standard.ts import nothing else but node:crypto', () => {
  const imports = ['verify', 'explain', 'standard'].flatMap((name) => {
    const source = readFileSync(join(import.meta.dirname, `../../../clients/typescript/src/${name}.ts`), 'utf8');
    return [...source.matchAll(/from '([^']+)'/g)].map(([, from]) => from);
  });
  expect(new Set(imports)).toEqual(new Set(['node:crypto', './explain.js', './standard.js']));
});
