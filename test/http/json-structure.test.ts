import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { examineStructure, MAX_DEPTH } from '../../src/http/body.js';

describe('examineStructure', () => {
  it('reports no repeated name in the JSON of any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: MAX_DEPTH - 1 }), (value) => {
        for (const space of [0, 2]) {
          const { repeated, excess } = examineStructure(JSON.stringify(value, null, space), Number.POSITIVE_INFINITY);
          expect([repeated, excess]).toEqual([false, undefined]);
        }
      }),
    );
  });

  it('finds a repeated name for any text in names and values', () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', ',', ':', '}', ']', 'a', 'é') });
    fc.assert(
      fc.property(text, text, (name, value) => {
        const [n, v] = [JSON.stringify(name), JSON.stringify(value)];
        expect(examineStructure(`{${n}:${v},"other":[${v},{${n}:${v}}]}`, 100).repeated).toBe(name === 'other');
        expect(examineStructure(`[{${n}:${v},${n}:[]}]`, 100).repeated).toBe(true);
      }),
    );
  });

  it('counts members and items, and stops at the first excess', () => {
    expect(examineStructure('{"a":1,"b":{"c":2}}', 3)).toEqual({ repeated: false });
    expect(examineStructure('{"a":1,"b":{"c":2}}', 2)).toEqual({
      repeated: false,
      excess: { of: 'members', names: ['a', 'b'], within: 'b' },
    });
    expect(examineStructure('[1,2,3]', 2)).toEqual({ repeated: false });
    expect(examineStructure('[1,2,3]', 1).excess).toEqual({ of: 'members', names: null, within: undefined });
    expect(examineStructure('{"a":1,"b":2,"a":3}', 1)).toMatchObject({ repeated: false, excess: { of: 'members' } });
  });

  it('allows 16 levels and no more', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(examineStructure(nested(MAX_DEPTH), 100)).toEqual({ repeated: false });
    expect(examineStructure(nested(MAX_DEPTH + 1), 100)).toMatchObject({ repeated: false, excess: { of: 'depth' } });
    expect(examineStructure(`{"a":1,"b":${nested(MAX_DEPTH)}}`, 100).excess).toEqual({
      of: 'depth',
      names: ['a', 'b'],
      within: 'b',
    });
    expect(examineStructure(`[${nested(MAX_DEPTH - 1)},${nested(MAX_DEPTH - 1)}]`, 100)).toEqual({ repeated: false });
  });

  it('terminates for any text, JSON or not', () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', ',', ':', '}', ']', 'a', ' ') });
    fc.assert(fc.property(text, (any) => typeof examineStructure(any, 5).repeated === 'boolean'));
  });
});
