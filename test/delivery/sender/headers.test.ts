import fc from 'fast-check';
import { verify } from '../../../clients/typescript/src/verify.js';
import { keepHeaders, sign, signatureHeader } from '../../../src/delivery/sender/headers.js';
import { Secret } from '../../../src/platform/secret.js';

/*
 * Vectors made outside this code base, with OpenSSL 3.0.19:
 *   printf '%s.%s' "$T" "$BODY" | openssl dgst -sha256 -hmac "$SECRET"
 * and, for a body of arbitrary bytes:
 *   { printf '%s.' "$T"; printf '\000\377\303\050\n'; } | openssl dgst -sha256 -hmac "$SECRET"
 */
const vectors = [
  {
    name: 'a delivery',
    secret: 'whsec_0123456789abcdef',
    t: '2026-11-21T10:00:00.123Z',
    body: '{"id":"0192f0c1-2f3a-7b4c-8d5e-6f708192a3b4","version":"2026-11-21","type":"transfer.status_changed","data":{"id":"0192f0c1-1111-7222-8333-444455556666","status":"SENT"},"created_at":"2026-11-21T10:00:00.042"}',
    expected: 'feb6f064a08608e6b819b153faad3eb3ed29b845abf19f7be7fd29d19eed003e',
  },
  {
    name: 'a secret with all kinds of printable characters, and spaces around it',
    secret: ` !"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~ `,
    t: '2026-01-01T00:00:00.000Z',
    body: '{}',
    expected: '96fedc1f8b1a8e0b9460b692e4449858808239a3d293ebaf0cab00713f2189ab',
  },
  {
    name: 'bytes that are not UTF-8',
    secret: 'whsec_0123456789abcdef',
    t: '2026-11-21T10:00:00.123Z',
    body: Uint8Array.of(0x00, 0xff, 0xc3, 0x28, 0x0a),
    expected: '5586b6b2f646a38f17d653792b89c94a758b29020f95e5c1213c90043289c229',
  },
  {
    name: 'a secret longer than a block of SHA-256',
    secret: 'k'.repeat(256),
    t: '2026-11-21T10:00:00.123Z',
    body: '{}',
    expected: 'a98afbd29d51fe406ae4d848dfcbbd6600cfddce3ba30b5a9d3255ef84bae844',
  },
];

test.each(vectors)('signs $name as openssl does', ({ secret, t, body, expected }) => {
  expect(sign({ secret: new Secret(secret), t, body })).toBe(expected);
});

const secrets = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((c) => String.fromCharCode(c)),
  minLength: 16,
  maxLength: 256,
});
const times = fc.date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true });

test('a receiver verifies a signed body of any bytes', () => {
  fc.assert(
    fc.property(secrets, times, fc.uint8Array(), (secret, signedAt, body) => {
      const header = signatureHeader({ secret: new Secret(secret), t: signedAt.toISOString(), body });
      expect(verify({ header, body, secret, now: signedAt }).t).toEqual(signedAt);
    }),
  );
});

describe('keepHeaders', () => {
  it('keeps eight headers, in lower case, and no other', () => {
    const kept = {
      'content-type': 'text/plain',
      'retry-after': '120',
      date: 'Sun, 22 Nov 2026 04:00:00 GMT',
      server: 'nginx',
      location: 'https://example.com/elsewhere',
      via: '1.1 proxy',
      'x-request-id': 'abc',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    expect(keepHeaders({ ...kept, 'set-cookie': 'session=1', authorization: 'x', 'www-authenticate': 'y' })).toEqual(
      kept,
    );
    expect(keepHeaders({})).toEqual({});
  });

  it('joins a repeated header, cuts a value at 256 characters and removes control characters', () => {
    const kept = keepHeaders({ via: ['a', 'b'], server: 'x'.repeat(300), date: 'a\u0000b\u001b[31mc\u0085d\u007f' });
    expect(kept).toEqual({ via: 'a, b', server: 'x'.repeat(256), date: 'ab[31mcd' });
  });

  it('cuts no character in half: Postgres would reject the record', () => {
    expect(keepHeaders({ server: `${'x'.repeat(255)}😀😀` })).toEqual({ server: `${'x'.repeat(255)}😀` });
  });

  it.each([
    ['https://user:password@example.com/a?token=1#b', 'https://example.com/a'],
    ['https://user:p@ss@example.com/a', 'https://example.com/a'],
    ['//user@example.com/a', '//example.com/a'],
    ['https:\\\\user@example.com/a', 'https:\\\\example.com/a'],
    ['/login?next=/a', '/login'],
    ['https://example.com/@name', 'https://example.com/@name'],
    ['#only', ''],
  ])('shows the location %s as %s', (location, shown) => {
    expect(keepHeaders({ location })).toEqual({ location: shown });
  });
});
