import { describe, expect, it, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { explainDigest } from '../../../clients/typescript/src/explain.js';
import { standardHeaders, standardSignature, whsecKey } from '../../../clients/typescript/src/standard.js';
import { SignatureError, signatureHeader, verifyStandard } from '../../../clients/typescript/src/verify.js';
import { vectors } from '../../support/vectors.js';

describe('standardHeaders', () => {
  const base64 = (length: number) => Buffer.alloc(length, 0xfb).toString('base64');
  const raw = (secret: string) => new Webhook(secret, { format: 'raw' });

  it.each<[string, string, (secret: string) => Webhook]>([
    ['the decoded bytes of a secret of the standard, 24 bytes', `whsec_${base64(24)}`, (secret) => new Webhook(secret)],
    ['the decoded bytes of a secret of the standard, 64 bytes', `whsec_${base64(64)}`, (secret) => new Webhook(secret)],
    ['the text, of 23 bytes', `whsec_${base64(23)}`, raw],
    ['the text, of 65 bytes', `whsec_${base64(65)}`, raw],
    ['the text, of no base64', 'whsec_0123456789abcdef-0123456789abcdef', raw],
    ['the text, without the prefix', base64(32), raw],
  ])('has as its key %s', (_, secret, verifier) => {
    const [t, body] = [new Date().toISOString(), '{"name":"Zoë"}'];
    const headers = standardHeaders({ id: 'evt', secret, t, body });
    expect(headers).toMatchObject({ 'webhook-id': 'evt', 'webhook-timestamp': `${Math.floor(Date.parse(t) / 1000)}` });
    expect(verifier(secret).verify(body, headers)).toEqual(JSON.parse(body));
    expect(() => verifier(secret).verify(`${body} `, headers)).toThrow('No matching signature');
    const delivery = { headers, body, secret };
    expect(verifyStandard(delivery).t.getTime()).toBe(Number(headers['webhook-timestamp']) * 1_000);
    expect(() => verifyStandard({ ...delivery, body: `${body} ` })).toThrow(SignatureError);
    expect(standardHeaders({ id: 'evt', secret: Buffer.from(secret), t, body })).toEqual(headers);
  });
});

test.each(vectors.standard_webhooks)('the vector: $name', ({ expected, body_base64, secret, now, ...of }) => {
  const headers = { 'webhook-id': of.id, 'webhook-timestamp': of.timestamp, 'webhook-signature': of.signature };
  const body = Buffer.from(body_base64, 'base64');
  const verdict = () => {
    try {
      return verifyStandard({ headers, body, secret, now: new Date(now) }) && 'valid';
    } catch (error) {
      return (error as SignatureError).code;
    }
  };
  expect(verdict()).toBe(expected);
});

test('a digest of Standard Webhooks, and one by the decoded secret, are explained', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const attempt = { t: '2026-11-21T10:00:00.123Z', body: '{}', secret };
  const digest = standardSignature({ secret, id: 'evt', timestamp: '1795255200', body: '{}' }).toString('base64');
  for (const v0 of [digest, `v1,${digest}`]) {
    expect(explainDigest({ ...attempt, standardId: 'evt' }, v0)).toBe('match');
    expect(explainDigest(attempt, v0)).toBe('unknown');
  }
  const [, v0 = ''] = signatureHeader({ ...attempt, secret: whsecKey(secret) ?? '' }).split('v0=');
  expect(explainDigest(attempt, v0)).toBe('secret_base64_decoded');
});
