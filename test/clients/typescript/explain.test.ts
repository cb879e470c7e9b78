import { createHash, createHmac } from 'node:crypto';
import {
  DIGEST_EXPLANATIONS,
  type DigestExplanation,
  explainDigest,
  explainRequest,
} from '../../../clients/typescript/src/explain.js';
import { eventBody } from '../../../src/delivery/event-catalogue.js';

const t = '2026-11-21T10:00:00.123Z';
const body = eventBody({
  id: '019abe01-7a10-7c44-9d02-3f1f6f0c8a11',
  type: 'transfer.status_changed',
  data: { id: '019abe01-7a10-7c44-9d02-3f1f6f0c8a12', status: 'SENT' },
  createdAt: Date.parse(t),
});
const secret = 'the secret of the endpoint ';
/** Both base64 and hexadecimal. */
const encoded = '0123456789abcdef0123456789abcdef';
const attempt = { t, body, secret, otherSecrets: ['the-secret-of-another-endpoint'] };
const hmac = (key: string | Buffer, text: string, algorithm = 'sha256') =>
  createHmac(algorithm, key).update(text).digest('hex');
const right = hmac(secret, `${t}.${body}`);
const parsed = JSON.parse(body);

const sorted = JSON.stringify({
  ...{ created_at: parsed.created_at, data: parsed.data, id: parsed.id, type: parsed.type, version: parsed.version },
});
/** A space after each `,` and `:`, as Python writes JSON. */
const spaced = (json: string) => json.replace(/":|,(?=")/g, '$& ');

/** Each mistake, as an integrator makes it in Node, Python or Go. */
const MADE: [DigestExplanation, string, string, string?][] = [
  ['match', 'none', right],
  ['match', 'copied with its name in the header', `v0=${right}`],
  ['upper_case_digest', 'toUpperCase', right.toUpperCase()],
  ['base64_digest', 'base64', Buffer.from(right, 'hex').toString('base64')],
  ['base64_digest', 'base64url', Buffer.from(right, 'hex').toString('base64url')],
  ['reserialized_body', 'two spaces', hmac(secret, `${t}.${JSON.stringify(parsed, null, 2)}`)],
  ['reserialized_body', 'four spaces', hmac(secret, `${t}.${JSON.stringify(parsed, null, 4)}`)],
  ['reserialized_body', 'sorted keys', hmac(secret, `${t}.${sorted}`)],
  ['reserialized_body', 'json.dumps of Python', hmac(secret, `${t}.${spaced(body)}`)],
  ['reserialized_body', 'json.dumps with sort_keys', hmac(secret, `${t}.${spaced(sorted)}`)],
  ['reserialized_body', 'MarshalIndent of Go', hmac(secret, `${t}.${JSON.stringify(parsed, null, '\t')}`)],
  ['reserialized_body', 'an Encoder of Go', hmac(secret, `${t}.${sorted}\n`)],
  ['timestamp_changed', 'isoformat of Python', hmac(secret, `2026-11-21T10:00:00.123000+00:00.${body}`)],
  ['body_with_newline', 'a line end', hmac(secret, `${t}.${body}\n`)],
  ['body_without_timestamp', 'the body alone', hmac(secret, body)],
  ['missing_dot', 'no dot', hmac(secret, t + body)],
  ['timestamp_changed', 'no milliseconds', hmac(secret, `2026-11-21T10:00:00Z.${body}`)],
  ['timestamp_changed', 'Unix seconds', hmac(secret, `${Math.floor(Date.parse(t) / 1000)}.${body}`)],
  ['timestamp_changed', 'Unix milliseconds', hmac(secret, `${Date.parse(t)}.${body}`)],
  ['secret_with_newline', 'a line end', hmac(`${secret}\n`, `${t}.${body}`)],
  ['secret_trimmed', 'trim', hmac(secret.trim(), `${t}.${body}`)],
  ['secret_base64_decoded', 'base64', hmac(Buffer.from(encoded, 'base64'), `${t}.${body}`), encoded],
  ['secret_hex_decoded', 'hex', hmac(Buffer.from(encoded, 'hex'), `${t}.${body}`), encoded],
  ['secret_hex_decoded', 'upper case', hmac(Buffer.from(encoded, 'hex'), `${t}.${body}`), encoded.toUpperCase()],
  ['empty_secret', 'an unset variable', hmac('', `${t}.${body}`)],
  ['other_endpoint', 'another secret', hmac('the-secret-of-another-endpoint', `${t}.${body}`)],
  ['wrong_algorithm', 'SHA-1', hmac(secret, `${t}.${body}`, 'sha1')],
  ['wrong_algorithm', 'SHA-512', hmac(secret, `${t}.${body}`, 'sha512')],
  ['wrong_algorithm', 'no key', createHash('sha256').update(`${t}.${body}`).digest('hex')],
  ['unknown', 'a secret of nobody', hmac('nobody', `${t}.${body}`)],
  ['unknown', 'no digest', 'hello'],
  ['unknown', 'nothing', ''],
];

describe('explainDigest', () => {
  it.each(MADE)('names %s (%s)', (explanation, _, v0, ofEndpoint = secret) => {
    expect(explainDigest({ ...attempt, secret: ofEndpoint }, v0)).toBe(explanation);
  });

  it.each(['+/8=', '+/8', '-_8=', '-_8', '+/+/'])('decodes the whole base64 secret %s', (part) => {
    const whole = `0123456789abcdefghij${part}`;
    const v0 = hmac(Buffer.from(whole, 'base64'), `${t}.${body}`);
    expect(explainDigest({ ...attempt, secret: whole }, v0)).toBe('secret_base64_decoded');
  });

  // Decoders stop at the first character that they do not know, or skip it.
  it.each([
    'g1234567890abcdef',
    'ab g567890abcdef',
    '0123456789abcdef0',
    '=123456789abcdef',
    'abcd efgh ijkl mnop',
    '####################',
  ])('a guess of a part of the secret %j was confirmed as if it had been decoded', (whole) => {
    for (const encoding of ['hex', 'base64'] as const) {
      const v0 = hmac(Buffer.from(whole, encoding), `${t}.${body}`);
      const named = explainDigest({ ...attempt, secret: whole }, v0);
      expect(named).toBe(Buffer.from(whole, encoding).length === 0 ? 'empty_secret' : 'unknown');
    }
  });

  it('the cases above produce each of its explanations', () => {
    expect(new Set(MADE.map(([explanation]) => explanation))).toEqual(new Set(Object.keys(DIGEST_EXPLANATIONS)));
  });

  it('ignores blanks around the digest, and its case where another mistake was made', () => {
    expect(explainDigest(attempt, ` ${right}\n`)).toBe('match');
    expect(explainDigest(attempt, hmac(secret, body).toUpperCase())).toBe('body_without_timestamp');
  });
});

describe('a request at hand', () => {
  const t = '2026-11-21T10:00:00.123Z';
  const body = '{"id":"1","data":{"id":"2","status":"SENT"}}';
  const secret = 'the-secret-of-the-endpoint';
  const delivery = { t, body, secret };
  const sign = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex');
  const sent = sign(secret, `${t}.${body}`);

  describe('explainRequest, with the request as the receiver has it', () => {
    it.each([
      ['body_with_newline', { body: `${body}\n` }],
      ['body_with_newline', { body: ` ${body}` }],
      ['byte_order_mark', { body: `\uFEFF${body}` }],
      ['empty_body', { body: '' }],
      ['secret_with_newline', { secret: ` ${secret}` }],
      ['secret_with_newline', { secret: `${secret}\r\n` }],
      ['reserialized_body', { body: JSON.stringify(JSON.parse(body), null, 2) }],
      ['unknown', { body: `not JSON ${body}` }],
      ['unknown', { secret: 'another-secret-entirely' }],
    ] as const)('names %s', (explanation, changed) => {
      expect(explainRequest({ ...delivery, ...changed }, sent)).toBe(explanation);
    });

    it('names a body that was read as Latin-1', () => {
      const accented = '{"name":"Zoë"}';
      const header = sign(secret, `${t}.${accented}`);
      const read = Buffer.from(accented).toString('latin1');
      expect(explainRequest({ t, body: Buffer.from(read), secret }, header)).toBe('latin1_body');
    });

    it.each([
      ['large', `${'x'.repeat(5_000)}\n`],
      ['deep', '['.repeat(4_000)],
    ])('explains no %s body, so that a forgery costs little', (_, forged) => {
      expect(explainRequest({ t, body: forged, secret }, sign(secret, `${t}.x`))).toBe('unknown');
    });
  });
});
