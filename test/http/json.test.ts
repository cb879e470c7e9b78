import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from '../../src/http/json.js';
import { Refusal } from '../../src/refusal.js';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('parseJson', () => {
  it('reads the output of JSON.stringify for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value);
        expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('refuses every object with a repeated member', () => {
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
