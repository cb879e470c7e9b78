import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { examineStructure, MAX_DEPTH, parseBody } from '../../src/http/body.js';
import { Refusal } from '../../src/platform/refusal.js';

const bytes = (text: string) => new TextEncoder().encode(text);

function parseJson(text: Uint8Array): unknown {
  const read = parseBody(text, Number.POSITIVE_INFINITY);
  return 'excess' in read ? read.excess : read.value;
}

describe('parseBody', () => {
  it('reads the output of JSON.stringify for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value);
        expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('returns NaN for a number with so many digits that it may have been rounded to an integer', () => {
    const read = (number: string) => parseJson(bytes(`{"a":[true,"1.5e1",${number}]}`));
    for (const [number, value] of [
      ['1.0', 1],
      ['1E2', 100],
      ['-2.50e+1', -25],
      ['1.5', 1.5],
      ['0.99999999999999999999', Number.NaN],
      ['1.0000000000000000001', Number.NaN],
      ['9007199254740991.4', Number.NaN],
      ['10000000000000000001e-19', Number.NaN],
      ['1.00000000000000000', 1],
      ['1e-400', Number.NaN],
      ['1e400', Number.POSITIVE_INFINITY],
    ] as const) {
      expect([number, read(number)]).toEqual([number, { a: [true, '1.5e1', value] }]);
    }
  });

  it('returns an integer only for a text that denotes exactly that integer', () => {
    const fraction = fc.integer({ min: 1, max: 10 ** 9 }).map((digits) => String(digits).padStart(9, '0'));
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: 30 }), fraction, (value, zeros, digits) => {
        expect(Number.isInteger(parseJson(bytes(`${value}.${'0'.repeat(zeros)}${digits}`)))).toBe(false);
        expect(parseJson(bytes(`${value}e0`))).toBe(value);
      }),
    );
  });

  it('keeps the name __proto__ beside a number that may be rounded', () => {
    expect(Object.keys(parseJson(bytes('{"__proto__":"a","b":1.0}')) as object)).toEqual(['__proto__', 'b']);
  });

  it('rejects every object with a repeated member', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.jsonValue(), fc.jsonValue(), (name, one, two) => {
        const member = (value: unknown) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
        expect(() => parseJson(bytes(`[{${member(one)} , ${member(two)}}]`))).toThrow(Refusal);
      }),
    );
  });
});

describe('examineStructure', () => {
  it('counts members and items, and stops at the first excess', () => {
    expect(examineStructure('{"a":1,"b":{"c":2}}', 3)).toBeUndefined();
    expect(examineStructure('{"a":1,"b":{"c":2}}', 2)).toEqual({ of: 'members', names: ['a', 'b'], within: 'b' });
    expect(examineStructure('[1,2,3]', 2)).toBeUndefined();
    expect(examineStructure('[1,2,3]', 1)).toEqual({ of: 'members', names: null, within: undefined });
    expect(examineStructure('{"a":1,"b":2,"a":3}', 1)).toMatchObject({ of: 'members' });
  });

  it('allows 16 levels and no more', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(examineStructure(nested(MAX_DEPTH), 100)).toBeUndefined();
    expect(examineStructure(nested(MAX_DEPTH + 1), 100)).toMatchObject({ of: 'depth' });
    expect(examineStructure(`{"a":1,"b":${nested(MAX_DEPTH)}}`, 100)).toEqual({
      of: 'depth',
      names: ['a', 'b'],
      within: 'b',
    });
    expect(examineStructure(`[${nested(MAX_DEPTH - 1)},${nested(MAX_DEPTH - 1)}]`, 100)).toBeUndefined();
  });

  it('stops at more strings than JSON with so many members can have', () => {
    const deep = '['.repeat(MAX_DEPTH + 1);
    expect(examineStructure(`${'""'.repeat(11)}${deep}`, 5)).toMatchObject({ of: 'depth' });
    expect(examineStructure(`${'""'.repeat(12)}${deep}`, 5)).toBeUndefined();
    const most = JSON.stringify({ a: 'x', b: ['x', 'x', 'x', 'x'] });
    expect(examineStructure(most.replace('}', `,"c":${deep}`), 6)).toMatchObject({ of: 'depth' });
  });
});
