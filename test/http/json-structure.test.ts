import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { examineStructure, MAX_DEPTH } from '../../src/http/body.js';

describe('examineStructure', () => {
  it('reports no repeated name in the JSON of any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: MAX_DEPTH - 1 }), (value) => {
        for (const space of [0, 2]) {
          const fault = examineStructure(JSON.stringify(value, null, space), Number.POSITIVE_INFINITY);
          expect(fault).toBeUndefined();
        }
      }),
    );
  });

  it('finds a repeated name for any text in names and values', () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', ',', ':', '}', ']', 'a', 'é') });
    fc.assert(
      fc.property(text, text, (name, value) => {
        const [n, v] = [JSON.stringify(name), JSON.stringify(value)];
        expect(examineStructure(`{${n}:${v},"other":[${v},{${n}:${v}}]}`, 100)).toBe(
          name === 'other' ? 'repeated_name' : undefined,
        );
        expect(examineStructure(`[{${n}:${v},${n}:[]}]`, 100)).toBe('repeated_name');
      }),
    );
  });

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

  it('terminates for any text, JSON or not', () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', ',', ':', '}', ']', 'a', ' ') });
    fc.assert(fc.property(text, (any) => ['undefined', 'string', 'object'].includes(typeof examineStructure(any, 5))));
  });
});
