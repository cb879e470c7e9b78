import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseBody } from '../../src/http/body.js';
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

  it('returns an integer only where the text denotes exactly that integer, and NaN where it would be rounded', () => {
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
      ['1e-400', Number.NaN],
      ['1e400', Number.POSITIVE_INFINITY],
    ] as const) {
      expect([number, read(number)]).toEqual([number, { a: [true, '1.5e1', value] }]);
    }
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

  it.each(['{"a":{"a":1},"b":{"a":2}}', '[{"a":1},{"a":1}]', '{"a":"\\"a\\":","b":"{"}', '{"a":["a","a"]}'])(
    'takes the same name in other places: %s',
    (text) => {
      expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
    },
  );
});
