import { createHmac } from 'node:crypto';
import { explainMismatch } from '../../src/webhooks/explain-mismatch.js';

const t = '2026-11-21T10:00:00.123Z';
const body = '{"id":"1","data":{"id":"2","status":"SENT"}}';
const secret = 'the-secret-of-the-endpoint';
const delivery = { t, body, secret };
const sign = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex');
const sent = sign(secret, `${t}.${body}`);

describe('explainMismatch, with the digest that the receiver computed', () => {
  it('names the mistake of the digest', () => {
    expect(explainMismatch(delivery, sent, sign(secret, body))).toBe('body_without_timestamp');
    expect(explainMismatch(delivery, sent, sent)).toBe('match');
    expect(explainMismatch(delivery, sent, 'x')).toBe('unknown');
  });

  it('does not say that the digest is right where the secret at hand is not the one of the header', () => {
    const other = 'another-secret-entirely';
    expect(explainMismatch({ ...delivery, secret: other }, sent, sign(other, `${t}.${body}`))).toBe('unknown');
  });
});

describe('explainMismatch, with the delivery as the receiver has it', () => {
  it.each([
    ['body_with_newline', { body: `${body}\n` }],
    ['secret_with_newline', { secret: `${secret}\r\n` }],
    ['reserialized_body', { body: JSON.stringify(JSON.parse(body), null, 2) }],
    ['unknown', { body: `not JSON ${body}` }],
    ['unknown', { secret: 'another-secret-entirely' }],
  ] as const)('names %s', (explanation, changed) => {
    expect(explainMismatch({ ...delivery, ...changed }, sent)).toBe(explanation);
  });

  it('names the mistake of a sender that is not the service, such as a test of the integrator', () => {
    expect(explainMismatch(delivery, sign(secret, t + body))).toBe('missing_dot');
  });
});
