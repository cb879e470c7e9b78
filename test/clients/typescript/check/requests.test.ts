import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { caseRequest } from '../../../../clients/typescript/src/check/requests.js';
import { CHECK_CASE_NAMES, type CheckCase } from '../../../../src/platform/vocabulary.js';

const SECRET = 'whsec_0123456789abcdef';
const NOW = Date.parse('2026-11-22T10:00:00.123Z');
const source = { secret: SECRET, validBody: null as string | null };
const valid = caseRequest('valid', source, NOW);

function made(name: CheckCase) {
  const { body, signature } = caseRequest(name, { ...source, validBody: valid.body }, NOW);
  const [, t = '', v0 = ''] = /^t=(.+),v0=([0-9a-f]{64})$/.exec(signature ?? '') ?? [];
  const isSigned = v0 === createHmac('sha256', SECRET).update(`${t}.${body}`).digest('hex');
  return { event: JSON.parse(body), body, signature, t, isSigned };
}

describe('the request of a case', () => {
  it('has a valid, fresh signature, unless the case needs another', () => {
    const found = CHECK_CASE_NAMES.map((name) => [name, made(name).isSigned, made(name).t]);
    const fresh = '2026-11-22T10:00:00.123Z';
    expect(found).toEqual([
      ['valid', true, fresh],
      ['duplicate', true, fresh],
      ['out_of_order', true, fresh],
      ['unknown_type', true, fresh],
      ['unknown_field', true, fresh],
      ['stale_timestamp', true, '2026-11-22T09:54:00.123Z'],
      ['wrong_secret', false, fresh],
      ['changed_body', false, fresh],
      ['missing_signature', false, ''],
    ]);
    expect(made('missing_signature').signature).toBeNull();
  });

  it('is an event of the known type, except for unknown_type', () => {
    const types = CHECK_CASE_NAMES.map((name) => made(name).event.type);
    expect(types.filter((type) => type !== 'transfer.status_changed')).toEqual([made('unknown_type').event.type]);
    for (const name of CHECK_CASE_NAMES) {
      const { id, version, type, data, created_at } = made(name).event;
      expect(Object.keys(made(name).event).slice(0, 5)).toEqual(['id', 'version', 'type', 'data', 'created_at']);
      expect([typeof id, version, typeof type]).toEqual(['string', '2026-11-21', 'string']);
      expect(data.id).toMatch(/^00000000-0000-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(created_at).toMatch(/^2026-11-22T\d\d:\d\d:\d\d\.\d{3}$/);
    }
  });
});
